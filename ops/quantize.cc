#include <cmath>

#include "base/status_macros.h"
#include "ops/dot_output.h"
#include "ops/element_types.h"
#include "ops/kernels.h"
#include "ops/quantized_parameters.h"
#include "ops/real_quantizer.h"

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

// Division and rounding in the float type of the input.
template <typename From, typename To>
void FromFloat(v1::Rounding rounding, const TensorView& input,
               const MutableTensorView& output) {
  const QuantizedRange range = RangeOf(output.type);
  const QuantizationView& q = output.quantization;
  const From* x = input.as<From>();
  To* y = output.as<To>();
  const bool even = rounding == v1::HALF_EVEN;
  ForEachElement(output.shape, q, [&](int64_t i, int64_t c) {
    const From ratio = x[i] / static_cast<From>(q.scale[c]);
    const double steps = even ? std::nearbyint(ratio) : std::round(ratio);
    y[i] = static_cast<To>(Limited(steps + q.zero_point[c], range));
  });
}

template <typename From, typename To>
absl::Status FromQuantized(v1::Rounding rounding, const TensorView& input,
                           const MutableTensorView& output) {
  EK_ASSIGN_OR_RETURN(const RescaleParameters p,
                      ChangeOfScale({}, rounding, input.quantization,
                                    output.quantization, output.type));
  const From* x = input.as<From>();
  To* y = output.as<To>();
  for (int64_t i = 0; i < NumElements(output.shape); ++i) {
    y[i] = static_cast<To>(Finish(x[i] - p.input_zero_point, p.multiplier,
                                  p.output_zero_point, p.clamp));
  }
  return absl::OkStatus();
}

template <typename From, typename To>
absl::Status ToFloat(const TensorView& input, const MutableTensorView& output) {
  const QuantizationView& q = input.quantization;
  const From* x = input.as<From>();
  To* y = output.as<To>();
  ForEachElement(output.shape, q, [&](int64_t i, int64_t c) {
    const int64_t steps = int64_t{x[i]} - q.zero_point[c];
    y[i] = static_cast<To>(double{q.scale[c]} * static_cast<double>(steps));
  });
  return absl::OkStatus();
}

// The integers that hold steps of a scale.
template <typename Fn>
absl::Status WithStepsType(v1::ElementType type, const Fn& fn) {
  if (type == v1::UINT16) return fn(uint16_t());
  if (type == v1::INT32) return fn(int32_t());
  return WithQuantizedType(type, fn);
}

}  // namespace

absl::Status Quantize(v1::Rounding rounding, const TensorView& input,
                      const MutableTensorView& output) {
  return WithStepsType(output.type, [&](auto to) {
    using To = decltype(to);
    if (input.type == v1::FLOAT32) {
      FromFloat<float, To>(rounding, input, output);
      return absl::OkStatus();
    }
    if (input.type == v1::FLOAT64) {
      FromFloat<double, To>(rounding, input, output);
      return absl::OkStatus();
    }
    return WithStepsType(input.type, [&](auto from) {
      return FromQuantized<decltype(from), To>(rounding, input, output);
    });
  });
}

absl::Status Dequantize(const TensorView& input,
                        const MutableTensorView& output) {
  return WithStepsType(input.type, [&](auto from) {
    using From = decltype(from);
    return output.type == v1::FLOAT64 ? ToFloat<From, double>(input, output)
                                      : ToFloat<From, float>(input, output);
  });
}

}  // namespace edgekiln::ops
