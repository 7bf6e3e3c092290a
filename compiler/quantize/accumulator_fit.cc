#include "compiler/quantize/accumulator_fit.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "compiler/passes/product_sums.h"
#include "compiler/quantize/scales.h"
#include "ops/quantized_parameters.h"

namespace edgekiln::compiler {
namespace {

// How closely the least scale for an accumulator is found, as a factor.
constexpr double kLeastGrowth = 1.005;

// How far sums of products exceed what so many bits hold, as a factor; 1: not
// at all.
double ExcessOf(SumRange sums, int32_t bits) {
  if (Fits(sums, bits)) return 1;
  const double end = std::ldexp(1, bits - 1);
  return std::max({static_cast<double>(sums.high) / (end - 1),
                   -static_cast<double>(sums.low) / end, kLeastGrowth});
}

double SumExcess(const RealWeights& real,
                 absl::Span<const FittedChannel> channels) {
  double excess = 1;
  for (const FittedChannel& channel : channels) {
    excess =
        std::max(excess, ExcessOf(SumOfProducts(channel.integers, real.inputs),
                                  real.accumulator_bits));
  }
  return excess;
}

// Whether sums fit with weights that are rounded to nearest.
bool RoundedSumsFit(const RealWeights& real, const WeightFitOptions& options,
                    absl::Span<const FittedChannel> channels, double scale) {
  const double limit = LargestInteger(options.form);
  const double rounded =
      RoundedScale(scale, {.power_of_two = options.power_of_two});
  std::vector<int8_t> integers;
  for (const FittedChannel& channel : channels) {
    integers.clear();
    for (const double weight : channel.weights) {
      integers.push_back(static_cast<int8_t>(
          RoundHalfAway(std::clamp(weight / rounded, -limit, limit))));
    }
    if (!Fits(SumOfProducts(integers, real.inputs), real.accumulator_bits)) {
      return false;
    }
  }
  return true;
}

}  // namespace

float FitWithinAccumulator(const WeightFitOptions& options,
                           const RealWeights& real,
                           absl::Span<FittedChannel> channels, float scale) {
  if (real.accumulator_bits == 0 || SumExcess(real, channels) <= 1) {
    return scale;
  }
  // By halves: sums of many small weights fall faster than the scale grows.
  double too_small = scale;
  double least = scale;
  while (!RoundedSumsFit(real, options, channels, least)) {
    too_small = least;
    least *= 2;
  }
  while (least > kLeastGrowth * too_small) {
    const double middle = std::sqrt(too_small * least);
    (RoundedSumsFit(real, options, channels, middle) ? least : too_small) =
        middle;
  }
  // Adaptive rounding makes other sums.
  while (true) {
    for (FittedChannel& channel : channels) {
      channel.least_scale = std::max(channel.least_scale, least);
    }
    scale = FitWeights(options, channels);
    const double excess = SumExcess(real, channels);
    if (excess <= 1) return scale;
    least = scale * excess;
  }
}

double LargestScaleForSums(const UnfittedWeights& of,
                           const v1::LayerScheme& scheme) {
  const ops::QuantizedRange range = ops::RangeOf(of.activations);
  const int64_t zero = of.inputs.zero_point[0];
  RealWeights real = {.weights = of.weights,
                      .channels = of.shape[of.axis],
                      .axis = of.axis,
                      .accumulator_bits = scheme.accumulator_bits(),
                      .inputs = {range.min - zero, range.max - zero}};
  for (size_t i = of.axis + 1; i < of.shape.size(); ++i) {
    real.inner *= of.shape[i];
  }
  const std::vector<float> scales =
      QuantizeWeights(real, scheme.per_tensor() == v1::ON,
                      {.form = scheme.weights(), .power_of_two = true})
          .weights.scale;
  return *std::max_element(scales.begin(), scales.end());
}

}  // namespace edgekiln::compiler
