#include "compiler/quantize/scales.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace edgekiln::compiler {
namespace {

constexpr int32_t kUint8Zero = 128;  // Of what is 0 as int8.

// The smallest power of two that is at least `scale`, which is positive.
double PowerOfTwoAtLeast(double scale) {
  int exponent = 0;
  return std::frexp(scale, &exponent) == 0.5 ? scale : std::ldexp(1, exponent);
}

}  // namespace

RealRange RangeHeldBy(const Quantization& quantization, v1::ElementType type) {
  const ops::QuantizedRange integers = ops::RangeOf(type);
  const double scale = quantization.scale[0];
  const double zero = quantization.zero_point[0];
  return {.low = scale * (integers.min - zero),
          .high = scale * (integers.max - zero)};
}

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
  const bool wide = rules.activations == v1::INT16;
  const bool symmetric = rules.symmetric || wide;
  // uint8 is int8 with another zero: rounded alike.
  const ops::QuantizedRange integers =
      ops::RangeOf(wide ? v1::INT16 : v1::INT8);
  const double least = integers.min;
  const double most = integers.max;
  const int32_t moved = rules.activations == v1::UINT8 ? kUint8Zero : 0;
  const double low = std::min(range.low, 0.0);
  const double high = std::max(range.high, 0.0);
  const double width = symmetric ? std::max(low / least, high / most)
                                 : (high - low) / (most - least);
  // Also ranges so narrow that their scale is no float.
  const bool is_point =
      !(static_cast<float>(width) >= std::numeric_limits<float>::min());
  const float scale = RoundedScale(width, rules);
  if (is_point || symmetric) {
    return {.scale = {scale}, .zero_point = {moved}, .axis = 0};
  }
  const int64_t zero =
      RoundHalfAway(std::clamp(least - low / scale, least, most));
  return {.scale = {scale},
          .zero_point = {static_cast<int32_t>(zero) + moved},
          .axis = 0};
}

Quantization ProbabilityQuantization(ScaleRules rules) {
  if (rules.activations == v1::INT16) {
    return {.scale = {1.0f / 32768}, .zero_point = {0}, .axis = 0};
  }
  const int32_t moved = rules.activations == v1::UINT8 ? kUint8Zero : 0;
  if (rules.symmetric) {
    return {.scale = {1.0f / 128}, .zero_point = {moved}, .axis = 0};
  }
  return {.scale = {1.0f / 256}, .zero_point = {moved - 128}, .axis = 0};
}

std::string QuantizedValues(absl::Span<const float> values,
                            const Quantization& quantization,
                            v1::ElementType type) {
  const ops::QuantizedRange integers = ops::RangeOf(type);
  const double least = integers.min;
  const double most = integers.max;
  const double all = most - least + 1;
  std::string data;
  data.reserve(values.size() * static_cast<size_t>(ElementBytes(type)));
  for (const float value : values) {
    const double steps =
        std::clamp(value / double{quantization.scale[0]}, -all, all);
    const double moved =
        static_cast<double>(RoundHalfAway(steps)) + quantization.zero_point[0];
    const auto integer = static_cast<int32_t>(std::clamp(moved, least, most));
    // The low bytes: those of a narrower type, too.
    data.append(reinterpret_cast<const char*>(&integer),
                static_cast<size_t>(ElementBytes(type)));
  }
  return data;
}

}  // namespace edgekiln::compiler
