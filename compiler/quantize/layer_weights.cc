#include "compiler/quantize/layer_weights.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace edgekiln::compiler {
namespace {

constexpr double kSumLimit = 0x7fffffff;
// Distance of 8-bit activations from their zero point.
constexpr double kLargestInput = 255;
constexpr double kMargin = 1.01;  // Rounding may make weights larger.
constexpr int kAttempts = 4;
constexpr int kMostShift = 31;  // Of int32 sums.

void AddScale(double scale, double input_scale, LayerWeights& result) {
  const auto weights = static_cast<float>(scale);
  result.weights.scale.push_back(weights);
  result.weights.zero_point.push_back(0);
  result.bias.scale.push_back(
      std::max(static_cast<float>(input_scale * weights),
               std::numeric_limits<float>::min()));
  result.bias.zero_point.push_back(0);
}

// Real value of a channel's bias, for sums in steps of `sum_step`.
double BiasOf(const RealWeights& real, size_t channel, double sum_step) {
  return real.bias[channel] + HalfStepInBias(real.half_step, sum_step);
}

// How far channels exceed what keeps sums within int32, as a factor of their
// scale; 1: not at all.
double Excess(absl::Span<const FittedChannel> channels, double scale,
              const RealWeights& real, size_t first) {
  const double step = real.input_scale * scale;
  double excess = 1;
  for (size_t c = 0; c < channels.size(); ++c) {
    const double room = LargestBias(channels[c].integers);
    const double needs =
        real.bias.empty() ? 0 : std::abs(BiasOf(real, first + c, step) / step);
    if (needs <= room) continue;
    // Both products and bias become smaller with a larger scale.
    const double products = kSumLimit - std::min(room, kSumLimit);
    excess = std::max(excess, (products + needs) / kSumLimit * kMargin);
  }
  return excess;
}

// One scale for `channels`, the first of which is number `first`.
float FitWithinInt32(const WeightFitOptions& options, const RealWeights& real,
                     size_t first, absl::Span<FittedChannel> channels) {
  float scale = FitWeights(options, channels);
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const double excess = Excess(channels, scale, real, first);
    if (excess <= 1) break;
    for (FittedChannel& channel : channels) {
      channel.least_scale = std::max(channel.least_scale, scale * excess);
    }
    scale = FitWeights(options, channels);
  }
  return scale;
}

}  // namespace

double HalfStepInBias(double half_step, double sum_step) {
  return 2 * half_step > sum_step ? half_step : 0;
}

void SetResultScale(const Quantization& result, ScaleRules rules,
                    bool rounds_down, RealWeights& real) {
  if (rounds_down) real.half_step = HalfStep(result);
  if (!rules.power_of_two) return;
  real.least_scale =
      std::ldexp(result.scale[0], -kMostShift) / real.input_scale;
}

double LargestBias(absl::Span<const int8_t> weights) {
  int64_t sum = 0;
  for (const int8_t weight : weights) sum += std::abs(int32_t{weight});
  return std::min(kLargestBias,
                  kSumLimit - static_cast<double>(sum) * kLargestInput);
}

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
    fitted[c].least_scale = real.least_scale;
    if (!real.bias.empty()) {
      fitted[c].least_scale = std::max(
          fitted[c].least_scale,
          std::abs(BiasOf(real, c, 0)) / (real.input_scale * kLargestBias));
    }
  }
  for (size_t i = 0; i < real.weights.size(); ++i) {
    fitted[channel_of(i)].weights.push_back(real.weights[i]);
  }
  LayerWeights result;
  result.weights.axis = real.axis;
  const size_t sharing = per_tensor ? channels
                                    : static_cast<size_t>(std::max<int64_t>(
                                          options.channels_per_scale, 1));
  for (size_t first = 0; first < channels; first += sharing) {
    const size_t count = std::min(sharing, channels - first);
    const float scale = FitWithinInt32(
        options, real, first, absl::MakeSpan(fitted).subspan(first, count));
    const size_t copies = per_tensor ? 1 : count;
    for (size_t i = 0; i < copies; ++i) {
      AddScale(scale, real.input_scale, result);
    }
  }
  std::vector<size_t> next(channels, 0);
  result.weight_data.reserve(real.weights.size());
  for (size_t i = 0; i < real.weights.size(); ++i) {
    const size_t c = channel_of(i);
    result.weight_data.push_back(
        static_cast<char>(fitted[c].integers[next[c]++]));
  }
  for (size_t c = 0; c < real.bias.size(); ++c) {
    const double step =
        real.input_scale * result.weights.scale[per_tensor ? 0 : c];
    const auto steps =
        static_cast<int32_t>(RoundHalfAway(BiasOf(real, c, step) / step));
    result.bias_data.append(reinterpret_cast<const char*>(&steps),
                            sizeof(steps));
  }
  return result;
}

}  // namespace edgekiln::compiler
