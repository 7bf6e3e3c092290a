#include "compiler/quantize/noise.h"

#include <cmath>

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
                const char* bytes) {
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
