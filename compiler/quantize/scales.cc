#include "compiler/quantize/scales.h"

#include <algorithm>
#include <limits>

namespace edgekiln::compiler {
namespace {

constexpr double kInt8Min = -128;
constexpr double kInt8Max = 127;
// Leaves room for the products that are added to the bias.
constexpr double kMaxBias = 1 << 30;

double Magnitude(double value) { return value < 0 ? -value : value; }

template <typename T>
void Append(std::string& bytes, T value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof(T));
}

}  // namespace

void RealRange::Include(const RealRange& other) {
  low = std::min(low, other.low);
  high = std::max(high, other.high);
}

int64_t RoundHalfAway(double value) {
  return value < 0 ? -static_cast<int64_t>(0.5 - value)
                   : static_cast<int64_t>(value + 0.5);
}

Quantization ActivationQuantization(RealRange range) {
  const double low = std::min(range.low, 0.0);
  const double high = std::max(range.high, 0.0);
  const float scale = static_cast<float>((high - low) / (kInt8Max - kInt8Min));
  // Also ranges so narrow that their scale is no float.
  if (!(scale >= std::numeric_limits<float>::min())) {
    return {.scale = {1.0f}, .zero_point = {0}, .axis = 0};
  }
  const int64_t zero =
      RoundHalfAway(std::clamp(kInt8Min - low / scale, kInt8Min, kInt8Max));
  return {
      .scale = {scale}, .zero_point = {static_cast<int32_t>(zero)}, .axis = 0};
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
                                 double input_scale, int32_t axis) {
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
  for (size_t c = 0; c < largest.size(); ++c) {
    double scale = largest[c] / kInt8Max;
    if (!bias.empty()) {
      scale = std::max(scale, Magnitude(bias[c]) / (input_scale * kMaxBias));
    }
    float rounded = static_cast<float>(scale);
    if (!(rounded >= std::numeric_limits<float>::min())) rounded = 1.0f;
    result.weights.scale.push_back(rounded);
    result.weights.zero_point.push_back(0);
    result.bias.scale.push_back(
        std::max(static_cast<float>(input_scale * rounded),
                 std::numeric_limits<float>::min()));
    result.bias.zero_point.push_back(0);
  }
  result.weight_data.reserve(weights.size());
  for (size_t i = 0; i < weights.size(); ++i) {
    const double steps =
        weights[i] / double{result.weights.scale[channel_of(i)]};
    Append(result.weight_data, static_cast<int8_t>(std::clamp<int64_t>(
                                   RoundHalfAway(steps), -127, 127)));
  }
  for (size_t c = 0; c < bias.size(); ++c) {
    const double steps =
        bias[c] / (input_scale * double{result.weights.scale[c]});
    Append(result.bias_data, static_cast<int32_t>(RoundHalfAway(steps)));
  }
  return result;
}

}  // namespace edgekiln::compiler
