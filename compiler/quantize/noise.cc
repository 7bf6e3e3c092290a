#include "compiler/quantize/noise.h"

#include <cmath>

#include "ops/real_math.h"

namespace edgekiln::compiler {
namespace {

constexpr double kLogOf10 = 2.302585092994046;

}  // namespace

void Noise::Add(int64_t count, const float* real, const Tensor& quantized,
                const char* bytes) {
  const auto add = [&](const auto* values, double scale, double zero) {
    for (int64_t i = 0; i < count; ++i) {
      AddPair(real[i], scale * (static_cast<double>(values[i]) - zero));
    }
  };
  if (!quantized.quantization) {
    if (quantized.type == v1::FLOAT32) {
      add(reinterpret_cast<const float*>(bytes), 1, 0);
    }
    return;
  }
  const double scale = quantized.quantization->scale[0];
  const double zero = quantized.quantization->zero_point[0];
  switch (quantized.type) {
    case v1::INT8:
      return add(reinterpret_cast<const int8_t*>(bytes), scale, zero);
    case v1::UINT8:
      return add(reinterpret_cast<const uint8_t*>(bytes), scale, zero);
    case v1::INT16:
      return add(reinterpret_cast<const int16_t*>(bytes), scale, zero);
    default:
      return;
  }
}

std::optional<double> Noise::decibels() const {
  if (!(signal_ > 0) || !(noise_ > 0)) return std::nullopt;
  const double ratio = signal_ / noise_;
  if (!std::isfinite(ratio)) return std::nullopt;
  return 10 * ops::Log(ratio) / kLogOf10;
}

}  // namespace edgekiln::compiler
