#include <cmath>

#include "ops/arithmetic.h"
#include "ops/element_types.h"
#include "ops/kernels.h"
#include "ops/quantized_arithmetic.h"
#include "ops/unary_function.h"

namespace edgekiln::ops {
namespace {

using U = v1::Unary;

template <typename T, typename F>
absl::Status Map(const TensorView& input, const MutableTensorView& output,
                 const F& f) {
  const T* x = input.as<T>();
  T* y = output.as<T>();
  const int64_t elements = NumElements(output.shape);
  for (int64_t i = 0; i < elements; ++i) y[i] = static_cast<T>(f(x[i]));
  return absl::OkStatus();
}

template <typename T>
absl::Status MapWhole(const U& op, const TensorView& input,
                      const MutableTensorView& output) {
  switch (op.function()) {
    case U::ABS:
      return Map<T>(input, output, [](T x) { return Magnitude(x); });
    case U::NEG:
      return Map<T>(input, output, [](T x) { return Difference<T>(0, x); });
    case U::SQUARE:
      return Map<T>(input, output, [](T x) { return Product(x, x); });
    case U::BITWISE_NOT:
      return Map<T>(input, output, [](T x) { return ~x; });
    default:  // SIGN: CheckOp() lets no other function through.
      return Map<T>(input, output, [](T x) {
        return x > 0 ? 1 : x < 0 ? -1 : 0;
      });
  }
}

// IS_NAN and IS_INF: from a float type to bool.
absl::Status Classify(const U& op, const TensorView& input,
                      const MutableTensorView& output) {
  const bool positive = op.alpha() != 0;
  const bool negative = op.beta() != 0;
  return WithElementType(input.type, [&](auto type) {
    using T = decltype(type);
    const T* x = input.as<T>();
    auto* y = output.as<uint8_t>();
    const int64_t elements = NumElements(output.shape);
    for (int64_t i = 0; i < elements; ++i) {
      const double value = static_cast<double>(x[i]);
      const bool counts = value > 0 ? positive : negative;
      y[i] = op.function() == U::IS_NAN ? std::isnan(value)
                                        : std::isinf(value) && counts;
    }
    return absl::OkStatus();
  });
}

}  // namespace

absl::Status Unary(const v1::Unary& op, v1::Rounding rounding,
                   const TensorView& input, const MutableTensorView& output) {
  if (output.quantization.present()) {
    return UnaryQuantized(op, rounding, input, output);
  }
  if (op.function() == U::IS_NAN || op.function() == U::IS_INF) {
    return Classify(op, input, output);
  }
  if (op.function() == U::NOT) {
    return Map<uint8_t>(input, output, [](uint8_t x) { return x == 0; });
  }
  return WithElementType(output.type, [&](auto type) {
    using T = decltype(type);
    if constexpr (std::is_floating_point_v<T>) {
      return VisitUnary(
          op, [&](const auto& f) { return Map<T>(input, output, f); });
    } else {
      return MapWhole<T>(op, input, output);
    }
  });
}

}  // namespace edgekiln::ops
