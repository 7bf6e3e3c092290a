#include "compiler/quantize/round_to_steps.h"

namespace edgekiln::compiler {

void RoundToSteps(const Quantization& quantization, float* values,
                  int64_t count) {
  const float scale = quantization.scale[0];
  const auto zero = static_cast<float>(quantization.zero_point[0]);
  const float low = -128 - zero;
  const float high = 127 - zero;
  for (int64_t i = 0; i < count; ++i) {
    // Within [-255, 255], so that the conversion is defined; what is not a
    // number becomes `low`.
    float steps = values[i] / scale;
    steps = steps > low ? steps : low;
    steps = steps < high ? steps : high;
    // Rounds to nearest, halves up: 256 makes it positive, where conversion
    // rounds down.
    const auto rounded = static_cast<int32_t>(steps + 256.5f) - 256;
    values[i] = scale * static_cast<float>(rounded);
  }
}

}  // namespace edgekiln::compiler
