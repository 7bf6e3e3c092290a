#ifndef EK_COMPILER_QUANTIZE_LAYER_WEIGHTS_H_
#define EK_COMPILER_QUANTIZE_LAYER_WEIGHTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "compiler/ir/graph.h"
#include "compiler/passes/product_sums.h"
#include "compiler/quantize/input_moments.h"
#include "compiler/quantize/scales.h"
#include "compiler/quantize/weight_fit.h"

namespace edgekiln::compiler {

// The largest bias of a layer, as an integer: half of what int32 holds.
inline constexpr double kLargestBias = 1 << 30;

// The largest distance of an activation from its zero point.
double LargestActivation(v1::ElementType type);

// The largest bias of a channel with which no input makes its sum overflow
// int32, kLargestBias at most: `weights` are all of its integers. Below 0 if
// products alone can overflow.
double LargestBias(absl::Span<const int8_t> weights,
                   double largest_activation = 255);

// Weights of a layer as int8, and its bias.
struct LayerWeights {
  Quantization weights;  // Symmetric: zero points 0.
  std::string weight_data;
  Quantization bias;                      // Scales input * weights.
  v1::ElementType bias_type = v1::INT32;  // INT64: sums are of 64 bits.
  std::string bias_data;
  // The most that RealWeights::accumulator_bits made a scale of weights grow,
  // as a factor; 1: not at all.
  double scale_growth = 1;
};

// What a layer's weights are made from.
struct RealWeights {
  // Element i belongs to output channel (i / inner) % channels.
  absl::Span<const float> weights = {};
  int64_t channels = 0;
  int64_t inner = 1;
  absl::Span<const float> bias = {};  // One per channel, or none.
  int32_t axis = 0;                   // Of the channels, in the weights' shape.
  double input_scale = 1;
  double least_scale = 0;  // Of the weights.
  // Of results that are rounded down: biases hold it, HalfStepInBias().
  double half_step = 0;
  v1::ElementType activations = v1::INT8;  // What it reads.
  // Sums of INT16 may be of 64 bits, which nothing overflows.
  bool may_be_wide = false;
  // So many hold all sums of products, without the bias, of inputs that lie in
  // `inputs`, less their zero point. 0: as many as it takes.
  int32_t accumulator_bits = 0;
  SumRange inputs = {};
};

// What biases of an engine that rounds down hold of the `half_step` of a
// result, for sums in steps of `sum_step`: with it, results are rounded to
// nearest. Nothing where each sum is a result, or more than one.
double HalfStepInBias(double half_step, double sum_step);

// Sets what depends on the scale of the layer's results: `half_step`, if these
// are rounded down, and the scale with which an engine shifts by as many bits
// as it can, which weights of 0 get.
void SetResultScale(const Quantization& result, ScaleRules rules,
                    bool rounds_down, RealWeights& real);

// Each channel gets a scale, or as many neighbours as
// options.channels_per_scale share one, or all get one if `per_tensor`.
// `moments`: by channel, what it reads; empty: unknown. Scales are wide enough
// for no sum to overflow int32, whatever the inputs: that of a channel whose
// bias is far larger than its weights, or of one with very many weights. Where
// that would cost a bit of the weights and real.may_be_wide, the bias is INT64,
// and scales are those of the weights alone. Bits of weights that do not change
// a result beside their bias are no loss.
//
// With real.accumulator_bits, scales are about the least with which no input
// makes a sum of products exceed these.
LayerWeights QuantizeWeights(
    const RealWeights& real, bool per_tensor, const WeightFitOptions& options,
    absl::Span<const InputMoments* const> moments = {});

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_QUANTIZE_LAYER_WEIGHTS_H_
