#include "compiler/quantize/round_to_steps.h"

#include "ops/quantized_parameters.h"

namespace edgekiln::compiler {
namespace {

// To nearest, halves up, and with them what is 2^-16 below or less, as floats
// that large lie 2^-15 apart.
int32_t Nearest8(float steps) {
  // Makes the sum positive, where conversion rounds down.
  constexpr int32_t kAbove = 1 << 8;
  return static_cast<int32_t>(steps + (static_cast<float>(kAbove) + 0.5f)) -
         kAbove;
}

// The sum would be rounded to 2^-7: the difference is exact.
int32_t Nearest16(float steps) {
  const auto whole = static_cast<int32_t>(steps);
  const float rest = steps - static_cast<float>(whole);
  return whole + (rest >= 0.5f ? 1 : 0) - (rest < -0.5f ? 1 : 0);
}

template <int32_t Nearest(float)>
void Round(float scale, float low, float high, float* values, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    // Within [low, high], so that the conversion is defined; what is not a
    // number becomes `low`.
    float steps = values[i] / scale;
    steps = steps > low ? steps : low;
    steps = steps < high ? steps : high;
    values[i] = scale * static_cast<float>(Nearest(steps));
  }
}

}  // namespace

void RoundToSteps(const Quantization& quantization, float* values,
                  int64_t count, v1::ElementType type) {
  const float scale = quantization.scale[0];
  const ops::QuantizedRange integers = ops::RangeOf(type);
  const auto zero = static_cast<float>(quantization.zero_point[0]);
  const float low = static_cast<float>(integers.min) - zero;
  const float high = static_cast<float>(integers.max) - zero;
  if (type == v1::INT16) {
    Round<Nearest16>(scale, low, high, values, count);
  } else {
    Round<Nearest8>(scale, low, high, values, count);
  }
}

}  // namespace edgekiln::compiler
