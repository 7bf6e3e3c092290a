#include "ops/quantized_parameters.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status_macros.h"

namespace edgekiln::ops {
namespace {

absl::Status WantScales(const QuantizationView& q, absl::string_view which,
                        size_t at_most) {
  const size_t scales = q.scale.size();
  const bool arity = scales == 1 || scales == at_most;
  if (arity && q.zero_point.size() == scales) return absl::OkStatus();
  return MakeError(
      absl::StatusCode::kInvalidArgument,
      {.fault = Fault::kUser,
       .reason = "QUANTIZATION_ARITY",
       .what = absl::StrCat(std::string(which), " has ", scales, " scales"),
       .need = at_most == 1 ? std::string("one scale")
                            : absl::StrCat("one scale or ", at_most)});
}

// zero_point + round(bound / scale), limited to the range. In float like
// TensorFlow Lite, but saturating instead of overflowing.
int32_t QuantizeBound(float bound, v1::Rounding rounding,
                      const QuantizationView& q, QuantizedRange range) {
  const float real = bound / q.scale[0];
  const double steps =
      rounding == v1::HALF_EVEN ? std::nearbyint(real) : std::round(real);
  const double value = steps + q.zero_point[0];
  return static_cast<int32_t>(
      std::clamp(value, double(range.min), double(range.max)));
}

}  // namespace

QuantizedRange RangeOf(v1::ElementType type) {
  switch (type) {
    case v1::INT8:
      return {-128, 127};
    case v1::UINT8:
      return {0, 255};
    case v1::INT16:
      return {-32768, 32767};
    case v1::UINT16:
      return {0, 65535};
    case v1::INT32:
      return {std::numeric_limits<int32_t>::min(),
              std::numeric_limits<int32_t>::max()};
    default:
      return {0, 0};
  }
}

QuantizedRange ClampRange(const v1::Clamp& clamp, v1::Rounding rounding,
                          const QuantizationView& output,
                          v1::ElementType type) {
  const QuantizedRange full = RangeOf(type);
  QuantizedRange range = full;
  if (!output.present()) return range;
  if (clamp.has_min())
    range.min = QuantizeBound(clamp.min(), rounding, output, full);
  if (clamp.has_max())
    range.max = QuantizeBound(clamp.max(), rounding, output, full);
  return range;
}

absl::StatusOr<QuantizedDotParameters> DotParameters(
    const v1::Clamp& clamp, v1::Rounding rounding,
    const QuantizationView& input, const QuantizationView& weights,
    const QuantizationView& output, v1::ElementType output_type,
    int64_t channels) {
  EK_RETURN_IF_ERROR(WantScales(input, "input", 1));
  EK_RETURN_IF_ERROR(WantScales(weights, "weights", channels));
  EK_RETURN_IF_ERROR(WantScales(output, "output", 1));
  QuantizedDotParameters parameters;
  parameters.input_zero_point = input.zero_point[0];
  parameters.weight_zero_point = weights.zero_point[0];
  parameters.output_zero_point = output.zero_point[0];
  parameters.clamp = ClampRange(clamp, rounding, output, output_type);
  parameters.multiplier.reserve(channels);
  for (int64_t c = 0; c < channels; ++c) {
    const double weight_scale = weights.scale[weights.per_channel() ? c : 0];
    const double factor =
        double{input.scale[0]} * weight_scale / double{output.scale[0]};
    parameters.multiplier.push_back(QuantizeMultiplier(factor, rounding));
  }
  return parameters;
}

absl::StatusOr<QuantizedDotParameters> AccumulatorParameters(
    const QuantizationView& input, const QuantizationView& weights,
    int64_t channels) {
  EK_RETURN_IF_ERROR(WantScales(input, "input", 1));
  EK_RETURN_IF_ERROR(WantScales(weights, "weights", channels));
  QuantizedDotParameters parameters;
  parameters.input_zero_point = input.zero_point[0];
  parameters.weight_zero_point = weights.zero_point[0];
  return parameters;
}

std::vector<float> AccumulatorScales(const QuantizationView& input,
                                     const QuantizationView& weights) {
  std::vector<float> scales;
  scales.reserve(weights.scale.size());
  for (const float scale : weights.scale) {
    scales.push_back(
        static_cast<float>(double{input.scale[0]} * double{scale}));
  }
  return scales;
}

absl::StatusOr<QuantizedDotParameters> RequantizeParameters(
    const v1::Requantize& op, v1::Rounding rounding,
    const QuantizationView& output, v1::ElementType output_type,
    int64_t channels) {
  EK_RETURN_IF_ERROR(WantScales(output, "output", 1));
  QuantizedDotParameters parameters;
  parameters.output_zero_point = output.zero_point[0];
  parameters.clamp = ClampRange(op.clamp(), rounding, output, output_type);
  parameters.multiplier.reserve(channels);
  for (int64_t c = 0; c < channels; ++c) {
    const int from = op.multiplier_size() == 1 ? 0 : static_cast<int>(c);
    parameters.multiplier.push_back(
        {op.multiplier(from), op.shift(from), rounding});
  }
  return parameters;
}

namespace {

// Zero points and clamp: what QuantizedAddParameters and QuantizedMulParameters
// have in common.
template <typename Parameters>
absl::StatusOr<Parameters> BinaryParameters(const v1::Clamp& clamp,
                                            v1::Rounding rounding,
                                            const QuantizationView& a,
                                            const QuantizationView& b,
                                            const QuantizationView& output,
                                            v1::ElementType output_type) {
  EK_RETURN_IF_ERROR(WantScales(a, "input 0", 1));
  EK_RETURN_IF_ERROR(WantScales(b, "input 1", 1));
  EK_RETURN_IF_ERROR(WantScales(output, "output", 1));
  Parameters parameters;
  parameters.zero_point[0] = a.zero_point[0];
  parameters.zero_point[1] = b.zero_point[0];
  parameters.output_zero_point = output.zero_point[0];
  parameters.clamp = ClampRange(clamp, rounding, output, output_type);
  return parameters;
}

}  // namespace

absl::StatusOr<QuantizedAddParameters> AddParameters(
    const v1::Clamp& clamp, v1::Rounding rounding, const QuantizationView& a,
    const QuantizationView& b, const QuantizationView& output,
    v1::ElementType output_type) {
  EK_ASSIGN_OR_RETURN(QuantizedAddParameters parameters,
                      BinaryParameters<QuantizedAddParameters>(
                          clamp, rounding, a, b, output, output_type));
  // As many bits as fit beside those of the values.
  parameters.left_shift = output_type == v1::INT16 ? 15 : 20;
  // Halved so that the sum of both cannot leave int32.
  const double unit = 2.0 * std::max(double{a.scale[0]}, double{b.scale[0]});
  const double shifted = static_cast<double>(1 << parameters.left_shift);
  parameters.multiplier[0] =
      QuantizeMultiplier(double{a.scale[0]} / unit, rounding);
  parameters.multiplier[1] =
      QuantizeMultiplier(double{b.scale[0]} / unit, rounding);
  parameters.output_multiplier =
      QuantizeMultiplier(unit / (shifted * double{output.scale[0]}), rounding);
  return parameters;
}

absl::StatusOr<QuantizedMulParameters> MulParameters(
    const v1::Clamp& clamp, v1::Rounding rounding, const QuantizationView& a,
    const QuantizationView& b, const QuantizationView& output,
    v1::ElementType output_type) {
  EK_ASSIGN_OR_RETURN(QuantizedMulParameters parameters,
                      BinaryParameters<QuantizedMulParameters>(
                          clamp, rounding, a, b, output, output_type));
  // In float, as TensorFlow Lite computes this one factor.
  const float factor = a.scale[0] * b.scale[0] / output.scale[0];
  parameters.multiplier = QuantizeMultiplier(double{factor}, rounding);
  return parameters;
}

absl::StatusOr<RescaleParameters> ChangeOfScale(const v1::Clamp& clamp,
                                                v1::Rounding rounding,
                                                const QuantizationView& input,
                                                const QuantizationView& output,
                                                v1::ElementType output_type) {
  EK_RETURN_IF_ERROR(WantScales(input, "input", 1));
  EK_RETURN_IF_ERROR(WantScales(output, "output", 1));
  RescaleParameters parameters;
  parameters.identity = input == output;
  parameters.input_zero_point = input.zero_point[0];
  parameters.output_zero_point = output.zero_point[0];
  parameters.multiplier = QuantizeMultiplier(
      double{input.scale[0]} / double{output.scale[0]}, rounding);
  parameters.clamp = ClampRange(clamp, rounding, output, output_type);
  return parameters;
}

}  // namespace edgekiln::ops
