#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "ops/dot_output.h"
#include "ops/kernels.h"
#include "ops/quantized_parameters.h"

namespace edgekiln::ops {
namespace {

// Calls fn(index, channel) for every element; channel is 0 for one scale.
template <typename Fn>
void ForEachElement(absl::Span<const int64_t> shape, const QuantizationView& q,
                    const Fn& fn) {
  const int64_t elements = NumElements(shape);
  if (!q.per_channel()) {
    for (int64_t i = 0; i < elements; ++i) fn(i, 0);
    return;
  }
  const int64_t inner = NumElements(shape.subspan(q.axis + 1));
  for (int64_t i = 0; i < elements; ++i) {
    fn(i, i / inner % shape[q.axis]);
  }
}

template <typename To>
void FromFloat(const TensorView& input, const MutableTensorView& output) {
  const QuantizedRange range = RangeOf(output.type);
  const QuantizationView& q = output.quantization;
  const float* x = input.as<float>();
  To* y = output.as<To>();
  ForEachElement(output.shape, q, [&](int64_t i, int64_t c) {
    // Division and rounding in float, half away from zero.
    const double steps = double{std::round(x[i] / q.scale[c])};
    const double value = steps + q.zero_point[c];
    // Written so that NaN gives the lower bound.
    y[i] = value >= range.min
               ? static_cast<To>(std::min(value, double(range.max)))
               : static_cast<To>(range.min);
  });
}

template <typename From, typename To>
absl::Status FromQuantized(const TensorView& input,
                           const MutableTensorView& output) {
  EK_ASSIGN_OR_RETURN(
      const RescaleParameters p,
      ChangeOfScale({}, input.quantization, output.quantization, output.type));
  const From* x = input.as<From>();
  To* y = output.as<To>();
  for (int64_t i = 0; i < NumElements(output.shape); ++i) {
    y[i] = static_cast<To>(Finish(x[i] - p.input_zero_point, p.multiplier,
                                  p.output_zero_point, p.clamp));
  }
  return absl::OkStatus();
}

template <typename From>
void ToFloat(const TensorView& input, const MutableTensorView& output) {
  const QuantizationView& q = input.quantization;
  const From* x = input.as<From>();
  float* y = output.as<float>();
  ForEachElement(output.shape, q, [&](int64_t i, int64_t c) {
    const int64_t steps = int64_t{x[i]} - q.zero_point[c];
    y[i] = static_cast<float>(double{q.scale[c]} * static_cast<double>(steps));
  });
}

}  // namespace

absl::Status Quantize(const TensorView& input,
                      const MutableTensorView& output) {
  const bool to_int8 = output.type == v1::INT8;
  if (input.type == v1::INT8) {
    return to_int8 ? FromQuantized<int8_t, int8_t>(input, output)
                   : FromQuantized<int8_t, uint8_t>(input, output);
  }
  if (input.type == v1::UINT8) {
    return to_int8 ? FromQuantized<uint8_t, int8_t>(input, output)
                   : FromQuantized<uint8_t, uint8_t>(input, output);
  }
  switch (output.type) {
    case v1::INT8:
      FromFloat<int8_t>(input, output);
      break;
    case v1::UINT8:
      FromFloat<uint8_t>(input, output);
      break;
    case v1::INT16:
      FromFloat<int16_t>(input, output);
      break;
    default:
      FromFloat<int32_t>(input, output);
  }
  return absl::OkStatus();
}

absl::Status Dequantize(const TensorView& input,
                        const MutableTensorView& output) {
  switch (input.type) {
    case v1::INT8:
      ToFloat<int8_t>(input, output);
      break;
    case v1::UINT8:
      ToFloat<uint8_t>(input, output);
      break;
    case v1::INT16:
      ToFloat<int16_t>(input, output);
      break;
    default:
      ToFloat<int32_t>(input, output);
  }
  return absl::OkStatus();
}

}  // namespace edgekiln::ops
