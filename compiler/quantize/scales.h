#ifndef EK_COMPILER_QUANTIZE_SCALES_H_
#define EK_COMPILER_QUANTIZE_SCALES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "compiler/ir/graph.h"
#include "ops/quantized_parameters.h"

// From real ranges to scales, zero points and integers. Pure functions that use
// only + - * / and exponent arithmetic in double: the same on every machine.
namespace edgekiln::compiler {

// A range of real values, low <= high.
struct RealRange {
  double low = 0;
  double high = 0;

  void Include(const RealRange& other);
};

// Whether no value is NaN or infinite.
bool AllFinite(const std::vector<float>& values);

// Half away from zero. |value| < 2^62.
int64_t RoundHalfAway(double value);

// What activations become, and restrictions of a target on scales and zero
// points.
struct ScaleRules {
  bool symmetric = false;     // Activations: zero point 0.
  bool power_of_two = false;  // Scales: the next one that is not smaller.
  // Both operands of an addition: one scale, and that of its result is no
  // smaller.
  bool equal_addends = false;
  // INT8; UINT8, whose integers are those of INT8 and 128 more; or INT16, which
  // is symmetric whatever `symmetric` says.
  v1::ElementType activations = v1::INT8;
};

// Of the rules' type, over the range widened to hold 0, which gets an integer
// of its own. A range of zero width gives scale 1.
Quantization ActivationQuantization(RealRange range, ScaleRules rules = {});

// The same for probabilities, whatever range calibration saw: scale 1/256 as in
// TensorFlow Lite; symmetric 1/128, where 1 saturates at 127/128; of int16
// 1/32768.
Quantization ProbabilityQuantization(ScaleRules rules = {});

// The bytes of `values` as integers of `type`, which is INT8, UINT8 or INT16.
std::string QuantizedValues(absl::Span<const float> values,
                            const Quantization& quantization,
                            v1::ElementType type = v1::INT8);

// What integers of `type` with the one scale of `quantization` reach to.
RealRange RangeHeldBy(const Quantization& quantization, v1::ElementType type);

// What makes rounding down round to nearest if it is added before.
float HalfStep(const Quantization& quantization);

// `scale` as a float that the rules allow; 1 if it underflows to 0.
float RoundedScale(double scale, ScaleRules rules);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_QUANTIZE_SCALES_H_
