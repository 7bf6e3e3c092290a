#include "compiler/quantize/scales.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace edgekiln::compiler {
namespace {

constexpr double kInt8Min = -128;
constexpr double kInt8Max = 127;

// The smallest power of two that is at least `scale`, which is positive.
double PowerOfTwoAtLeast(double scale) {
  int exponent = 0;
  return std::frexp(scale, &exponent) == 0.5 ? scale : std::ldexp(1, exponent);
}

}  // namespace

float HalfStep(const Quantization& quantization) {
  return quantization.scale[0] / 2;
}

float RoundedScale(double scale, ScaleRules rules) {
  if (rules.power_of_two && scale > 0) scale = PowerOfTwoAtLeast(scale);
  const auto rounded = static_cast<float>(scale);
  return rounded >= std::numeric_limits<float>::min() ? rounded : 1.0f;
}

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
  const float scale = RoundedScale(width, rules);
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
    data.push_back(static_cast<char>(
        static_cast<int8_t>(std::clamp(moved, kInt8Min, kInt8Max))));
  }
  return data;
}

}  // namespace edgekiln::compiler
