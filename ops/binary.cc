#include "base/status_macros.h"
#include "ops/arithmetic.h"
#include "ops/broadcast.h"
#include "ops/element_types.h"
#include "ops/kernels.h"
#include "ops/quantized_arithmetic.h"
#include "ops/real_math.h"

namespace edgekiln::ops {
namespace {

using B = v1::Binary;

// Both inputs of type T, the output of type Out.
template <typename T, typename Out, typename F>
absl::Status Apply(Inputs inputs, const MutableTensorView& output, const F& f) {
  ApplyBroadcast(inputs[0].as<T>(), inputs[0].shape, inputs[1].as<T>(),
                 inputs[1].shape, output.as<Out>(), output.shape, f);
  return absl::OkStatus();
}

// Functions of the bits of integers.
template <typename T>
absl::Status Bits(const B& op, Inputs inputs, const MutableTensorView& output) {
  switch (op.function()) {
    case B::BITWISE_AND:
      return Apply<T, T>(inputs, output, [](T a, T b) { return T(a & b); });
    case B::BITWISE_OR:
      return Apply<T, T>(inputs, output, [](T a, T b) { return T(a | b); });
    case B::BITWISE_XOR:
      return Apply<T, T>(inputs, output, [](T a, T b) { return T(a ^ b); });
    case B::SHIFT_LEFT:
      return Apply<T, T>(inputs, output,
                         [](T a, T b) { return ShiftedLeft(a, b); });
    default:
      return Apply<T, T>(inputs, output,
                         [](T a, T b) { return ShiftedRight(a, b); });
  }
}

template <typename T>
absl::Status Arithmetic(const B& op, Inputs inputs,
                        const MutableTensorView& output) {
  const ValueRange<T> range(op.clamp());
  switch (op.function()) {
    case B::SUB:
      return Apply<T, T>(inputs, output, [&](T a, T b) {
        return range.Apply(Difference(a, b));
      });
    case B::DIV:
      return Apply<T, T>(inputs, output,
                         [&](T a, T b) { return range.Apply(Quotient(a, b)); });
    case B::MINIMUM:
      return Apply<T, T>(inputs, output,
                         [](T a, T b) { return Smaller(a, b); });
    case B::MAXIMUM:
      return Apply<T, T>(inputs, output, [](T a, T b) { return Larger(a, b); });
    case B::SQUARED_DIFFERENCE:
      return Apply<T, T>(inputs, output, [](T a, T b) {
        const T difference = Difference(a, b);
        return Product(difference, difference);
      });
    case B::PRELU:
      return Apply<T, T>(inputs, output, [](T a, T b) {
        const T below = Product(a, b);  // Always, so that loops have no jump.
        return a < 0 ? below : a;
      });
    case B::FLOOR_DIV:
      return Apply<T, T>(inputs, output,
                         [](T a, T b) { return FloorQuotient(a, b); });
    case B::FLOOR_MOD:
      return Apply<T, T>(inputs, output,
                         [](T a, T b) { return FloorRemainder(a, b); });
    case B::TRUNC_MOD:
      return Apply<T, T>(inputs, output,
                         [](T a, T b) { return TruncRemainder(a, b); });
    default:
      if constexpr (std::is_integral_v<T>) return Bits<T>(op, inputs, output);
      return absl::UnimplementedError("binary function without a kernel");
  }
}

template <typename T>
absl::Status Compare(const B& op, Inputs inputs,
                     const MutableTensorView& output) {
  switch (op.function()) {
    case B::EQUAL:
      return Apply<T, bool>(inputs, output, [](T a, T b) { return a == b; });
    case B::NOT_EQUAL:
      return Apply<T, bool>(inputs, output, [](T a, T b) { return a != b; });
    case B::GREATER:
      return Apply<T, bool>(inputs, output, [](T a, T b) { return a > b; });
    case B::GREATER_OR_EQUAL:
      return Apply<T, bool>(inputs, output, [](T a, T b) { return a >= b; });
    case B::LESS:
      return Apply<T, bool>(inputs, output, [](T a, T b) { return a < b; });
    default:
      return Apply<T, bool>(inputs, output, [](T a, T b) { return a <= b; });
  }
}

// Any byte but 0 is true.
absl::Status Logic(const B& op, Inputs inputs,
                   const MutableTensorView& output) {
  switch (op.function()) {
    case B::AND:
      return Apply<uint8_t, bool>(inputs, output, [](uint8_t a, uint8_t b) {
        return a != 0 && b != 0;
      });
    case B::OR:
      return Apply<uint8_t, bool>(inputs, output, [](uint8_t a, uint8_t b) {
        return a != 0 || b != 0;
      });
    case B::XOR:
    case B::NOT_EQUAL:
      return Apply<uint8_t, bool>(inputs, output, [](uint8_t a, uint8_t b) {
        return (a != 0) != (b != 0);
      });
    default:
      return Apply<uint8_t, bool>(inputs, output, [](uint8_t a, uint8_t b) {
        return (a != 0) == (b != 0);
      });
  }
}

// By squaring, wrapping around. A negative exponent leaves a fraction, which is
// cut off.
template <typename T, typename E>
T WholePower(T base, E exponent) {
  if (exponent < 0) {
    if (base == 1) return 1;
    if (base != static_cast<T>(-1) || !std::is_signed_v<T>) return 0;
    return exponent % 2 == 0 ? 1 : -1;
  }
  T result = 1;
  for (; exponent > 0; exponent /= 2) {
    if (exponent % 2 == 1) result = Product(result, base);
    base = Product(base, base);
  }
  return result;
}

template <typename T, typename E>
T PowerOf(T base, E exponent) {
  if constexpr (std::is_integral_v<T> && std::is_integral_v<E>) {
    return WholePower(base, exponent);
  } else if constexpr (std::is_integral_v<T>) {
    return SaturatingCast<T>(
        Pow(static_cast<double>(base), static_cast<double>(exponent)));
  } else {
    return static_cast<T>(
        Pow(static_cast<double>(base), static_cast<double>(exponent)));
  }
}

absl::Status Power(Inputs inputs, const MutableTensorView& output) {
  return WithElementType(output.type, [&](auto base) {
    using T = decltype(base);
    return WithElementType(inputs[1].type, [&](auto exponent) {
      using E = decltype(exponent);
      ApplyBroadcast(inputs[0].as<T>(), inputs[0].shape, inputs[1].as<E>(),
                     inputs[1].shape, output.as<T>(), output.shape,
                     [](T a, E b) { return PowerOf(a, b); });
      return absl::OkStatus();
    });
  });
}

}  // namespace

absl::Status Binary(const v1::Binary& op, v1::Rounding rounding, Inputs inputs,
                    const MutableTensorView& output) {
  if (inputs[0].quantization.present()) {
    return BinaryQuantized(op, rounding, inputs, output);
  }
  if (inputs[0].type == v1::BOOL) return Logic(op, inputs, output);
  if (op.function() == B::POW) return Power(inputs, output);
  return WithElementType(inputs[0].type, [&](auto type) {
    using T = decltype(type);
    return output.type == v1::BOOL ? Compare<T>(op, inputs, output)
                                   : Arithmetic<T>(op, inputs, output);
  });
}

}  // namespace edgekiln::ops
