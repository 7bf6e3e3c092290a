#include "ops/leaky_relu.h"

#include <array>
#include <cmath>
#include <cstdint>

#include "ops/dot_output.h"
#include "ops/quantized_arithmetic.h"
#include "ops/quantized_parameters.h"

namespace edgekiln::ops {
namespace {

constexpr int64_t kValues = 256;
// Of int8 or uint8, by value as a byte.
using Values = std::array<uint8_t, kValues>;

bool Reproduces(FixedPointMultiplier factor, int32_t zero, v1::ElementType type,
                const Values& results) {
  const QuantizedRange range = RangeOf(type);
  for (int32_t q = range.min; q <= range.max; ++q) {
    const int32_t y = q >= zero ? q : Finish(q - zero, factor, zero, range);
    if (static_cast<uint8_t>(y) != results[static_cast<uint8_t>(q)]) {
      return false;
    }
  }
  return true;
}

}  // namespace

std::optional<FixedPointMultiplier> LeakyReluMultiplier(
    const v1::Unary& op, v1::Rounding rounding,
    const QuantizationView& quantization, v1::ElementType type) {
  if ((type != v1::INT8 && type != v1::UINT8) ||
      quantization.scale.size() != 1) {
    return std::nullopt;
  }
  Values inputs;
  Values results;
  for (int64_t i = 0; i < kValues; ++i) inputs[i] = static_cast<uint8_t>(i);
  const int64_t shape[] = {kValues};
  if (!UnaryQuantized(op, rounding, {type, shape, inputs.data(), quantization},
                      {type, shape, results.data(), quantization})
           .ok()) {
    return std::nullopt;
  }
  // In float, as the factor of 3.12.
  const float slope =
      quantization.scale[0] * std::fabs(op.alpha()) / quantization.scale[0];
  // Where the op rounds half to even, half up may still give its values.
  for (const v1::Rounding tried : {rounding, v1::HALF_UP}) {
    const FixedPointMultiplier factor =
        QuantizeMultiplier(double{slope}, tried);
    if (Reproduces(factor, quantization.zero_point[0], type, results)) {
      return factor;
    }
  }
  return std::nullopt;
}

}  // namespace edgekiln::ops
