#include "compiler/quantize/noise.h"

#include <cmath>

#include "compiler/quantize/value_kernels.h"
#include "ops/real_math.h"

namespace edgekiln::compiler {
namespace {

constexpr double kLogOf10 = 2.302585092994046;

// Calls `visit` for the index and real value of each of `count` elements.
template <typename Visit>
void ForRealValues(int64_t count, const Tensor& type, const char* bytes,
                   const Visit& visit) {
  const auto each = [&](const auto* values, double scale, double zero) {
    for (int64_t i = 0; i < count; ++i) {
      visit(i, scale * (static_cast<double>(values[i]) - zero));
    }
  };
  if (!type.quantization) {
    if (type.type == v1::FLOAT32) {
      each(reinterpret_cast<const float*>(bytes), 1, 0);
    }
    return;
  }
  const double scale = type.quantization->scale[0];
  const double zero = type.quantization->zero_point[0];
  switch (type.type) {
    case v1::INT8:
      return each(reinterpret_cast<const int8_t*>(bytes), scale, zero);
    case v1::UINT8:
      return each(reinterpret_cast<const uint8_t*>(bytes), scale, zero);
    case v1::INT16:
      return each(reinterpret_cast<const int16_t*>(bytes), scale, zero);
    default:
      return;
  }
}

}  // namespace

void AppendRealValues(const Tensor& type, const char* bytes,
                      std::vector<float>& values) {
  ForRealValues(type.num_elements(), type, bytes, [&](int64_t, double value) {
    values.push_back(static_cast<float>(value));
  });
}

void Noise::Add(int64_t count, const float* real, const Tensor& quantized,
                const char* bytes, ops::CpuPath cpu_path) {
  const bool is_unsigned = quantized.type == v1::UINT8;
  if (quantized.quantization && (quantized.type == v1::INT8 || is_unsigned)) {
    const auto* values = reinterpret_cast<const int8_t*>(bytes);
    double zero_point = quantized.quantization->zero_point[0];
    std::vector<int8_t> shifted;
    if (is_unsigned) {
      // 128 less, as is the zero point.
      shifted.assign(values, values + count);
      for (int8_t& value : shifted) value = static_cast<int8_t>(value ^ -128);
      values = shifted.data();
      zero_point -= 128;
    }
    ValueKernelsFor(cpu_path).add_noise(
        {real, values, static_cast<size_t>(count),
         quantized.quantization->scale[0], zero_point},
        &signal_, &noise_);
    return;
  }
  ForRealValues(count, quantized, bytes,
                [&](int64_t i, double value) { AddPair(real[i], value); });
}

std::optional<double> Noise::decibels() const {
  if (!(signal_ > 0) || !(noise_ > 0)) return std::nullopt;
  const double ratio = signal_ / noise_;
  if (!std::isfinite(ratio)) return std::nullopt;
  return 10 * ops::Log(ratio) / kLogOf10;
}

}  // namespace edgekiln::compiler
