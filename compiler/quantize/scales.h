#ifndef EK_COMPILER_QUANTIZE_SCALES_H_
#define EK_COMPILER_QUANTIZE_SCALES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "compiler/ir/graph.h"

// From real ranges to scales, zero points and integers. Pure functions of
// + - * / in double, so the same on every machine.
namespace edgekiln::compiler {

// A range of real values, low <= high.
struct RealRange {
  double low = 0;
  double high = 0;

  void Include(const RealRange& other);
};

// Half away from zero. |value| < 2^62.
int64_t RoundHalfAway(double value);

// Asymmetric int8 over the range widened to hold 0, which gets an integer of
// its own. A range of zero width gives scale 1.
Quantization ActivationQuantization(RealRange range);

// Per-tensor int8 of `values`.
std::string QuantizedValues(absl::Span<const float> values,
                            const Quantization& quantization);

// Weights of a layer as int8, and its bias as int32.
struct QuantizedWeights {
  Quantization weights;  // Symmetric: zero points 0.
  std::string weight_data;
  Quantization bias;  // Scale input * weights, per channel.
  std::string bias_data;
};

// `weights` has `channels` output channels; element i belongs to channel
// (i / inner) % channels. `bias` is empty or has one value per channel. A
// channel whose bias is far larger than its weights gets a wider scale, so that
// the bias fits int32.
QuantizedWeights QuantizeWeights(absl::Span<const float> weights,
                                 int64_t channels, int64_t inner,
                                 absl::Span<const float> bias,
                                 double input_scale, int32_t axis);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_QUANTIZE_SCALES_H_
