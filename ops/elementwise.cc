#include "base/status_macros.h"
#include "ops/arithmetic.h"
#include "ops/broadcast.h"
#include "ops/element_types.h"
#include "ops/kernels.h"
#include "ops/quantized_arithmetic.h"

namespace edgekiln::ops {
namespace {

template <typename F>
absl::Status Combine(const v1::Clamp& clamp, Inputs inputs,
                     const MutableTensorView& output, const F& f) {
  return WithElementType(output.type, [&](auto type) {
    using T = decltype(type);
    const ValueRange<T> range(clamp);
    ApplyBroadcast(inputs[0].as<T>(), inputs[0].shape, inputs[1].as<T>(),
                   inputs[1].shape, output.as<T>(), output.shape,
                   [&](T a, T b) { return range.Apply(f(a, b)); });
    return absl::OkStatus();
  });
}

}  // namespace

absl::Status Add(const v1::Add& op, v1::Rounding rounding, Inputs inputs,
                 const MutableTensorView& output) {
  if (output.quantization.present()) {
    return AddQuantized(op.clamp(), rounding, 1, inputs, output);
  }
  return Combine(op.clamp(), inputs, output,
                 [](auto a, auto b) { return Sum(a, b); });
}

absl::Status Mul(const v1::Mul& op, v1::Rounding rounding, Inputs inputs,
                 const MutableTensorView& output) {
  if (output.quantization.present()) {
    return MulQuantized(op.clamp(), rounding, inputs, output);
  }
  return Combine(op.clamp(), inputs, output,
                 [](auto a, auto b) { return Product(a, b); });
}

absl::Status Clip(const v1::Clip& op, v1::Rounding rounding,
                  const TensorView& input, const MutableTensorView& output) {
  if (output.quantization.present()) {
    return ClipQuantized(op.clamp(), rounding, input, output);
  }
  return WithElementType(output.type, [&](auto type) {
    using T = decltype(type);
    const ValueRange<T> range(op.clamp());
    const T* x = input.as<T>();
    T* y = output.as<T>();
    const int64_t elements = NumElements(output.shape);
    for (int64_t i = 0; i < elements; ++i) y[i] = range.Apply(x[i]);
    return absl::OkStatus();
  });
}

}  // namespace edgekiln::ops
