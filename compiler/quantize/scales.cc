#include "compiler/quantize/scales.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace edgekiln::compiler {
namespace {

constexpr double kInt8Min = -128;
constexpr double kInt8Max = 127;
// Leaves room for the products that are added to the bias.
constexpr double kMaxBias = 1 << 30;

double Magnitude(double value) { return value < 0 ? -value : value; }

// The smallest power of two that is at least `scale`, which is positive.
double PowerOfTwoAtLeast(double scale) {
  int exponent = 0;
  return std::frexp(scale, &exponent) == 0.5 ? scale : std::ldexp(1, exponent);
}

// As a float; 1 if it underflows to 0.
float ScaleOf(double scale, ScaleRules rules) {
  if (rules.power_of_two && scale > 0) scale = PowerOfTwoAtLeast(scale);
  const auto rounded = static_cast<float>(scale);
  return rounded >= std::numeric_limits<float>::min() ? rounded : 1.0f;
}

// The scale of each channel's weights, before it is rounded.
std::vector<double> ChannelScales(const std::vector<double>& largest,
                                  absl::Span<const float> bias,
                                  double input_scale) {
  std::vector<double> scales;
  for (size_t c = 0; c < largest.size(); ++c) {
    double scale = largest[c] / kInt8Max;
    if (!bias.empty()) {
      scale = std::max(scale, Magnitude(bias[c]) / (input_scale * kMaxBias));
    }
    scales.push_back(scale);
  }
  return scales;
}

template <typename T>
void Append(std::string& bytes, T value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof(T));
}

}  // namespace

bool AllFinite(const std::vector<float>& values) {
  return std::all_of(values.begin(), values.end(),
                     [](float value) { return std::isfinite(value); });
}

void RealRange::Include(const RealRange& other) {
  low = std::min(low, other.low);
  high = std::max(high, other.high);
}

int64_t RoundHalfAway(double value) {
  return value < 0 ? -static_cast<int64_t>(0.5 - value)
                   : static_cast<int64_t>(value + 0.5);
}

Quantization ActivationQuantization(RealRange range, ScaleRules rules) {
  const double low = std::min(range.low, 0.0);
  const double high = std::max(range.high, 0.0);
  const double width = rules.symmetric
                           ? std::max(low / kInt8Min, high / kInt8Max)
                           : (high - low) / (kInt8Max - kInt8Min);
  // Also ranges so narrow that their scale is no float.
  const bool is_point =
      !(static_cast<float>(width) >= std::numeric_limits<float>::min());
  const float scale = ScaleOf(width, rules);
  if (is_point || rules.symmetric) {
    return {.scale = {scale}, .zero_point = {0}, .axis = 0};
  }
  const int64_t zero =
      RoundHalfAway(std::clamp(kInt8Min - low / scale, kInt8Min, kInt8Max));
  return {
      .scale = {scale}, .zero_point = {static_cast<int32_t>(zero)}, .axis = 0};
}

Quantization ProbabilityQuantization(ScaleRules rules) {
  if (rules.symmetric) {
    return {.scale = {1.0f / 128}, .zero_point = {0}, .axis = 0};
  }
  return {.scale = {1.0f / 256}, .zero_point = {-128}, .axis = 0};
}

std::string QuantizedValues(absl::Span<const float> values,
                            const Quantization& quantization) {
  std::string data;
  data.reserve(values.size());
  for (const float value : values) {
    const double steps = std::clamp(value / double{quantization.scale[0]},
                                    2 * kInt8Min, 2 * kInt8Max + 2);
    const double moved =
        static_cast<double>(RoundHalfAway(steps)) + quantization.zero_point[0];
    Append(data, static_cast<int8_t>(std::clamp(moved, kInt8Min, kInt8Max)));
  }
  return data;
}

QuantizedWeights QuantizeWeights(absl::Span<const float> weights,
                                 int64_t channels, int64_t inner,
                                 absl::Span<const float> bias,
                                 double input_scale, int32_t axis,
                                 bool per_tensor, ScaleRules rules) {
  const auto channel_of = [&](size_t i) {
    return static_cast<size_t>(static_cast<int64_t>(i) / inner % channels);
  };
  std::vector<double> largest(static_cast<size_t>(channels), 0);
  for (size_t i = 0; i < weights.size(); ++i) {
    double& most = largest[channel_of(i)];
    most = std::max(most, Magnitude(weights[i]));
  }
  QuantizedWeights result;
  result.weights.axis = axis;
  std::vector<double> scales = ChannelScales(largest, bias, input_scale);
  if (per_tensor && !scales.empty()) {
    scales = {*std::max_element(scales.begin(), scales.end())};
  }
  for (const double scale : scales) {
    const float rounded = ScaleOf(scale, rules);
    result.weights.scale.push_back(rounded);
    result.weights.zero_point.push_back(0);
    result.bias.scale.push_back(
        std::max(static_cast<float>(input_scale * rounded),
                 std::numeric_limits<float>::min()));
    result.bias.zero_point.push_back(0);
  }
  const auto scale_of = [&](size_t channel) {
    return double{result.weights.scale[per_tensor ? 0 : channel]};
  };
  result.weight_data.reserve(weights.size());
  for (size_t i = 0; i < weights.size(); ++i) {
    const double steps = weights[i] / scale_of(channel_of(i));
    Append(result.weight_data, static_cast<int8_t>(std::clamp<int64_t>(
                                   RoundHalfAway(steps), -127, 127)));
  }
  for (size_t c = 0; c < bias.size(); ++c) {
    const double steps = bias[c] / (input_scale * scale_of(c));
    Append(result.bias_data, static_cast<int32_t>(RoundHalfAway(steps)));
  }
  return result;
}

}  // namespace edgekiln::compiler
