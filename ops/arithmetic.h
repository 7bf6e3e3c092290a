#ifndef EK_OPS_ARITHMETIC_H_
#define EK_OPS_ARITHMETIC_H_

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "edgekiln/v1/graph.pb.h"

// Arithmetic on element types that has a result for all operands: integers wrap
// around modulo 2^bits, division by zero gives 0.
namespace edgekiln::ops {

// `f` on floats as it is, on integers in 64 unsigned bits: the low bits of
// sums, differences and products do not depend on the sign.
template <typename T, typename F>
T Wrapping(T a, T b, const F& f) {
  if constexpr (std::is_floating_point_v<T>) {
    return f(a, b);
  } else {
    return static_cast<T>(
        f(static_cast<uint64_t>(a), static_cast<uint64_t>(b)));
  }
}

template <typename T>
T Sum(T a, T b) {
  return Wrapping(a, b, [](auto x, auto y) { return x + y; });
}

template <typename T>
T Difference(T a, T b) {
  return Wrapping(a, b, [](auto x, auto y) { return x - y; });
}

template <typename T>
T Product(T a, T b) {
  return Wrapping(a, b, [](auto x, auto y) { return x * y; });
}

// Integers: towards zero.
template <typename T>
T Quotient(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    return a / b;
  } else {
    if (b == 0) return 0;
    // The smallest number by -1 wraps around to itself.
    if (std::is_signed_v<T> && b == static_cast<T>(-1)) {
      return Difference<T>(0, a);
    }
    return static_cast<T>(a / b);
  }
}

// The remainder has the sign of `a`.
template <typename T>
T TruncRemainder(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    return std::fmod(a, b);  // Exact by IEEE 754.
  } else {
    if (b == 0 || (std::is_signed_v<T> && b == static_cast<T>(-1))) return 0;
    return static_cast<T>(a % b);
  }
}

// The remainder has the sign of `b`.
template <typename T>
T FloorRemainder(T a, T b) {
  const T rest = TruncRemainder(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? static_cast<T>(rest + b) : rest;
}

// `a` moved left or right by `bits`, not at all if that is negative; beyond the
// width nothing is left but the sign.
template <typename T>
T ShiftedLeft(T a, T bits) {
  constexpr auto kWidth = 8 * sizeof(T);
  const auto by = static_cast<std::make_unsigned_t<T>>(bits < 0 ? T{0} : bits);
  return by < kWidth ? static_cast<T>(static_cast<uint64_t>(a) << by) : T{0};
}

template <typename T>
T ShiftedRight(T a, T bits) {
  constexpr auto kWidth = 8 * sizeof(T);
  const auto by = static_cast<std::make_unsigned_t<T>>(bits < 0 ? T{0} : bits);
  return static_cast<T>(a >> (by < kWidth ? by : kWidth - 1) >>
                        (by < kWidth ? 0 : 1));
}

template <typename T>
T FloorQuotient(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    return std::floor(a / b);
  } else {
    const T quotient = Quotient(a, b);
    const bool below =
        b != 0 && FloorRemainder(a, b) != 0 && (a < 0) != (b < 0);
    return static_cast<T>(quotient - (below ? 1 : 0));
  }
}

template <typename T>
bool IsNan(T a) {
  if constexpr (std::is_floating_point_v<T>) return std::isnan(a);
  return false;
}

// NaN wins.
template <typename T>
T Smaller(T a, T b) {
  return b < a || IsNan(b) ? b : a;
}

template <typename T>
T Larger(T a, T b) {
  return b > a || IsNan(b) ? b : a;
}

template <typename T>
T Magnitude(T a) {
  if constexpr (std::is_floating_point_v<T>) {
    return std::fabs(a);
  } else {
    return a < 0 ? Difference<T>(0, a) : a;
  }
}

// Towards zero, limited to the range of the integer type T; NaN gives 0.
template <typename T>
T SaturatingCast(double value) {
  // 2^digits: the maximum itself may not be a double.
  constexpr double kEnd =
      2.0 * static_cast<double>(T{1} << (std::numeric_limits<T>::digits - 1));
  if (std::isnan(value)) return 0;
  if (value >= kEnd) return std::numeric_limits<T>::max();
  if (value <= (std::is_signed_v<T> ? -kEnd : 0.0)) {
    return std::numeric_limits<T>::min();
  }
  return static_cast<T>(value);
}

// Bounds of a clamp on values of type T; infinite where absent. Integers have
// none.
template <typename T>
struct ValueRange {
  T min = -std::numeric_limits<T>::infinity();
  T max = std::numeric_limits<T>::infinity();

  explicit ValueRange(const v1::Clamp& clamp) {
    if (clamp.has_min()) min = clamp.min();
    if (clamp.has_max()) max = clamp.max();
  }
  // NaN passes.
  T Apply(T value) const {
    if constexpr (!std::is_floating_point_v<T>) return value;
    value = value < min ? min : value;
    return value > max ? max : value;
  }
};

}  // namespace edgekiln::ops

#endif  // EK_OPS_ARITHMETIC_H_
