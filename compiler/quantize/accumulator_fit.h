#ifndef EK_COMPILER_QUANTIZE_ACCUMULATOR_FIT_H_
#define EK_COMPILER_QUANTIZE_ACCUMULATOR_FIT_H_

#include <cstdint>

#include "absl/types/span.h"
#include "compiler/ir/graph.h"
#include "compiler/quantize/layer_weights.h"
#include "compiler/quantize/weight_fit.h"
#include "edgekiln/v1/graph.pb.h"
#include "edgekiln/v1/quantization.pb.h"

namespace edgekiln::compiler {

// Fits `channels`, which have `scale`, again until all sums of their products
// fit real.accumulator_bits, if that is not 0. Returns their scale: about the
// least with which they do.
float FitWithinAccumulator(const WeightFitOptions& options,
                           const RealWeights& real,
                           absl::Span<FittedChannel> channels, float scale);

struct UnfittedWeights {
  absl::Span<const float> weights;
  absl::Span<const int64_t> shape;
  int32_t axis = 0;  // Of the channels.
  Quantization inputs;
  v1::ElementType activations = v1::INT8;
};

// The largest scale that the weights have if scales are powers of two and no
// inputs of that type make a sum exceed scheme.accumulator_bits().
double LargestScaleForSums(const UnfittedWeights& of,
                           const v1::LayerScheme& scheme);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_QUANTIZE_ACCUMULATOR_FIT_H_
