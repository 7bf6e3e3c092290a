#include "compiler/quantize/layer_weights.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "compiler/quantize/accumulator_fit.h"

namespace edgekiln::compiler {
namespace {

constexpr double kSumLimit = 0x7fffffff;
constexpr double kMargin = 1.01;  // Rounding may make weights larger.
constexpr int kAttempts = 4;
constexpr int kMostShift = 31;  // Of int32 sums.
// Scales that int32 sums would make larger by more become those of wide sums.
constexpr double kWorthWideSums = 2;
// Of 64-bit sums: as many bits as TensorFlow Lite's kernels keep of a bias.
constexpr double kLargestWideBias = double{int64_t{1} << 39};
// Of a bias: products that are less together do not change a 16-bit result.
constexpr double kInvisible = 0x1p-17;

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

// Whether a channel's results are its bias, as of those that training has given
// up: its weights may lose any number of bits.
bool IsConstant(const FittedChannel& channel, const RealWeights& real,
                size_t c) {
  const double bias = real.bias.empty() ? 0 : BiasOf(real, c, 0);
  double sum = 0;
  for (const double weight : channel.weights) sum += std::abs(weight);
  const double products =
      sum * LargestActivation(real.activations) * real.input_scale;
  return products <= kInvisible * std::abs(bias);
}

// Gives channels the least scale with which their biases fit.
void HoldBiases(const RealWeights& real, size_t first, double largest_bias,
                absl::Span<FittedChannel> channels) {
  if (real.bias.empty()) return;
  for (size_t c = 0; c < channels.size(); ++c) {
    channels[c].least_scale = std::max(channels[c].least_scale,
                                       std::abs(BiasOf(real, first + c, 0)) /
                                           (real.input_scale * largest_bias));
  }
}

// How far channels exceed what keeps sums within int32, as a factor of their
// scale; 1: not at all.
double Excess(absl::Span<const FittedChannel> channels, double scale,
              const RealWeights& real, size_t first) {
  const double step = real.input_scale * scale;
  double excess = 1;
  for (size_t c = 0; c < channels.size(); ++c) {
    const double room =
        LargestBias(channels[c].integers, LargestActivation(real.activations));
    const double needs =
        real.bias.empty() ? 0 : std::abs(BiasOf(real, first + c, step) / step);
    if (needs <= room) continue;
    // Both products and bias become smaller with a larger scale.
    const double products = kSumLimit - std::min(room, kSumLimit);
    excess = std::max({excess, (products + needs) / kSumLimit * kMargin,
                       needs / kLargestBias});
  }
  return excess;
}

// One scale for `channels`, the first of which is number `first`. Nothing if
// that should be of wide sums.
std::optional<float> FitWithinInt32(const WeightFitOptions& options,
                                    const RealWeights& real, size_t first,
                                    absl::Span<FittedChannel> channels) {
  bool may_be_wide = false;
  for (size_t c = 0; c < channels.size() && real.may_be_wide; ++c) {
    may_be_wide = may_be_wide || !IsConstant(channels[c], real, first + c);
  }
  // Otherwise what a bias costs is seen below.
  if (!may_be_wide) HoldBiases(real, first, kLargestBias, channels);
  float scale = FitWeights(options, channels);
  const double widest = kWorthWideSums * scale;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const double excess = Excess(channels, scale, real, first);
    if (excess <= 1) break;
    if (may_be_wide && excess * scale > widest) return std::nullopt;
    for (FittedChannel& channel : channels) {
      channel.least_scale = std::max(channel.least_scale, scale * excess);
    }
    scale = FitWeights(options, channels);
  }
  return scale;
}

template <typename Integer>
void AppendBias(double steps, std::string& data) {
  const auto integer = static_cast<Integer>(RoundHalfAway(steps));
  data.append(reinterpret_cast<const char*>(&integer), sizeof(integer));
}

// Nothing if sums should be wide and are not.
std::optional<LayerWeights> Fitted(
    const RealWeights& real, bool per_tensor, const WeightFitOptions& options,
    absl::Span<const InputMoments* const> moments, bool wide) {
  const auto channels = static_cast<size_t>(real.channels);
  const auto inner = static_cast<size_t>(real.inner);
  const size_t all = inner * channels;  // Side by side.
  const size_t depth = real.weights.size() / std::max<size_t>(channels, 1);
  std::vector<FittedChannel> fitted(channels);
  for (size_t c = 0; c < channels; ++c) {
    if (!moments.empty()) fitted[c].moments = moments[c];
    fitted[c].least_scale = real.least_scale;
    fitted[c].weights.reserve(depth);
    for (size_t i = c * inner; i < real.weights.size(); i += all) {
      const auto some = real.weights.subspan(i, inner);
      fitted[c].weights.insert(fitted[c].weights.end(), some.begin(),
                               some.end());
    }
  }
  LayerWeights result;
  result.weights.axis = real.axis;
  const size_t sharing = per_tensor ? channels
                                    : static_cast<size_t>(std::max<int64_t>(
                                          options.channels_per_scale, 1));
  for (size_t first = 0; first < channels; first += sharing) {
    const size_t count = std::min(sharing, channels - first);
    const auto group = absl::MakeSpan(fitted).subspan(first, count);
    if (wide) HoldBiases(real, first, kLargestWideBias, group);
    const std::optional<float> within_int32 =
        wide ? FitWeights(options, group)
             : FitWithinInt32(options, real, first, group);
    if (!within_int32) return std::nullopt;
    const float scale =
        FitWithinAccumulator(options, real, group, *within_int32);
    result.scale_growth =
        std::max(result.scale_growth, double{scale} / *within_int32);
    const size_t copies = per_tensor ? 1 : count;
    for (size_t i = 0; i < copies; ++i) {
      AddScale(scale, real.input_scale, result);
    }
  }
  result.weight_data.resize(real.weights.size());
  for (size_t c = 0; c < channels; ++c) {
    const int8_t* from = fitted[c].integers.data();
    for (size_t i = c * inner; i < real.weights.size(); i += all) {
      std::copy_n(from, inner, result.weight_data.begin() + i);
      from += inner;
    }
  }
  if (wide) result.bias_type = v1::INT64;
  for (size_t c = 0; c < real.bias.size(); ++c) {
    const double step =
        real.input_scale * result.weights.scale[per_tensor ? 0 : c];
    const double steps = BiasOf(real, c, step) / step;
    if (wide) {
      AppendBias<int64_t>(steps, result.bias_data);
    } else {
      AppendBias<int32_t>(steps, result.bias_data);
    }
  }
  return result;
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

double LargestActivation(v1::ElementType type) {
  // int16 has zero point 0; that of 8 bits can lie at either end.
  return type == v1::INT16 ? 32768 : 255;
}

double LargestBias(absl::Span<const int8_t> weights,
                   double largest_activation) {
  int64_t sum = 0;
  for (const int8_t weight : weights) sum += std::abs(int32_t{weight});
  return std::min(kLargestBias,
                  kSumLimit - static_cast<double>(sum) * largest_activation);
}

LayerWeights QuantizeWeights(const RealWeights& real, bool per_tensor,
                             const WeightFitOptions& options,
                             absl::Span<const InputMoments* const> moments) {
  std::optional<LayerWeights> fitted =
      Fitted(real, per_tensor, options, moments, /*wide=*/false);
  if (!fitted) {
    fitted = Fitted(real, per_tensor, options, moments, /*wide=*/true);
  }
  return *std::move(fitted);
}

}  // namespace edgekiln::compiler
