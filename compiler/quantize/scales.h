#ifndef EK_COMPILER_QUANTIZE_SCALES_H_
#define EK_COMPILER_QUANTIZE_SCALES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "compiler/ir/graph.h"

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

// Restrictions of a target on scales and zero points.
struct ScaleRules {
  bool symmetric = false;     // Activations: zero point 0.
  bool power_of_two = false;  // Scales: the next one that is not smaller.
};

// int8 over the range widened to hold 0, which gets an integer of its own.
// A range of zero width gives scale 1.
Quantization ActivationQuantization(RealRange range, ScaleRules rules = {});

// The same for probabilities, whatever range calibration saw: scale 1/256 as in
// TensorFlow Lite; symmetric 1/128, where 1 saturates at 127/128.
Quantization ProbabilityQuantization(ScaleRules rules = {});

// Per-tensor int8 of `values`.
std::string QuantizedValues(absl::Span<const float> values,
                            const Quantization& quantization);

// Weights of a layer as int8, and its bias as int32.
struct QuantizedWeights {
  Quantization weights;  // Symmetric: zero points 0.
  std::string weight_data;
  Quantization bias;  // Scales input * weights.
  std::string bias_data;
};

// `weights` has `channels` output channels; element i belongs to channel
// (i / inner) % channels. `bias` is empty or has one value per channel. Each
// channel gets a scale, or all get the largest if `per_tensor`. A channel whose
// bias is far larger than its weights has a wider one, so that the bias fits
// int32.
QuantizedWeights QuantizeWeights(absl::Span<const float> weights,
                                 int64_t channels, int64_t inner,
                                 absl::Span<const float> bias,
                                 double input_scale, int32_t axis,
                                 bool per_tensor = false,
                                 ScaleRules rules = {});

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_QUANTIZE_SCALES_H_
