#include "compiler/quantize/layer_weights.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace edgekiln::compiler {
namespace {

void AddScale(double scale, double input_scale, LayerWeights& result) {
  const auto weights = static_cast<float>(scale);
  result.weights.scale.push_back(weights);
  result.weights.zero_point.push_back(0);
  result.bias.scale.push_back(std::max(static_cast<float>(input_scale * weights),
                                       std::numeric_limits<float>::min()));
  result.bias.zero_point.push_back(0);
}

}  // namespace

LayerWeights QuantizeWeights(const RealWeights& real, bool per_tensor,
                             const WeightFitOptions& options,
                             absl::Span<const InputMoments* const> moments) {
  const auto channels = static_cast<size_t>(real.channels);
  const auto channel_of = [&](size_t i) {
    return i / static_cast<size_t>(real.inner) % channels;
  };
  std::vector<FittedChannel> fitted(channels);
  for (size_t c = 0; c < channels; ++c) {
    if (!moments.empty()) fitted[c].moments = moments[c];
    if (!real.bias.empty()) {
      fitted[c].least_scale =
          std::abs(double{real.bias[c]}) / (real.input_scale * kLargestBias);
    }
  }
  for (size_t i = 0; i < real.weights.size(); ++i) {
    fitted[channel_of(i)].weights.push_back(real.weights[i]);
  }
  LayerWeights result;
  result.weights.axis = real.axis;
  if (per_tensor && channels > 0) {
    AddScale(FitWeights(options, absl::MakeSpan(fitted)), real.input_scale,
             result);
  }
  for (size_t c = 0; c < channels && !per_tensor; ++c) {
    AddScale(FitWeights(options, absl::MakeSpan(&fitted[c], 1)),
             real.input_scale, result);
  }
  std::vector<size_t> next(channels, 0);
  result.weight_data.reserve(real.weights.size());
  for (size_t i = 0; i < real.weights.size(); ++i) {
    const size_t c = channel_of(i);
    result.weight_data.push_back(
        static_cast<char>(fitted[c].integers[next[c]++]));
  }
  for (size_t c = 0; c < real.bias.size(); ++c) {
    const double scale = result.weights.scale[per_tensor ? 0 : c];
    const auto steps = static_cast<int32_t>(
        RoundHalfAway(real.bias[c] / (real.input_scale * scale)));
    result.bias_data.append(reinterpret_cast<const char*>(&steps),
                            sizeof(steps));
  }
  return result;
}

}  // namespace edgekiln::compiler
