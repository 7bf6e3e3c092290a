#ifndef EK_COMPILER_QUANTIZE_WEIGHT_FIT_H_
#define EK_COMPILER_QUANTIZE_WEIGHT_FIT_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "compiler/quantize/input_moments.h"
#include "compiler/quantize/scales.h"
#include "edgekiln/v1/quantization.pb.h"

// From real weights to integers that give nearly the same sums. Pure functions
// of + - * / in double, in a fixed order: the same on every machine.
namespace edgekiln::compiler {

// The largest integer that weights of the form become.
int32_t LargestInteger(v1::LayerScheme::Weights form);

struct WeightFitOptions {
  v1::LayerScheme::Weights form = v1::LayerScheme::INT8;
  v1::WeightRange range = v1::LARGEST_WEIGHT;
  bool adaptive = false;
  int64_t channels_per_scale = 0;  // 0: one.
  bool power_of_two = false;
};

// Channels that share one scale, with the moments of what each reads.
struct FittedChannel {
  std::vector<double> weights;
  const InputMoments* moments = nullptr;  // Null: all inputs vary alike.
  double least_scale = 0;                 // Its bias needs no smaller one.
  std::vector<int8_t> integers;           // The result.
};

// Chooses a scale for all channels together and the integers of each. The error
// that is made small is that of the sums: d' M d over the channel's moments M,
// where d is the difference between real and quantized weights.
//
// `range` chooses the scale by the weights' own errors (LEAST_WEIGHT_ERROR) or
// by those weighted with the diagonal of M. `adaptive` then moves integers one
// by one, each to where the error is least, until none moves or eight rounds
// are over: never worse than rounding to nearest. int8 weights stay next to
// their real values.
float FitWeights(const WeightFitOptions& options,
                 absl::Span<FittedChannel> channels);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_QUANTIZE_WEIGHT_FIT_H_
