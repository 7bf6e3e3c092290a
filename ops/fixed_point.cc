#include "ops/fixed_point.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "ops/real_math.h"

namespace edgekiln::ops {
namespace {

template <typename T>
constexpr int kBits = 8 * sizeof(T) - 1;  // Without the sign.

// A constant of 31 fractional bits.
template <typename T>
T Constant(int32_t q31) {
  return static_cast<T>(HalfAwayShift(q31, 31 - kBits<T>));
}

// Sums wrap around.
template <typename T>
T Sum(int64_t a, int64_t b) {
  return static_cast<T>(a + b);
}

// The same number with `n` integer bits fewer.
template <typename T>
T Narrowed(T x, int n) {
  return SaturatedTo<T>(int64_t{x} << n);
}

// exp(x) for x in [-1/4, 0), no integer bits: the series around -1/8.
template <typename T>
T ExpOfLastQuarter(T x) {
  const T middle = Constant<T>(1895147668);  // exp(-1/8)
  const T third = Constant<T>(715827883);
  x = Sum<T>(x, T{1} << (kBits<T> - 3));
  const T x2 = HighProduct(x, x);
  const T x3 = HighProduct(x2, x);
  const T x4 = HighProduct(x2, x2);
  // x^4 / 24 + x^3 / 6 + x^2 / 2.
  const T cubic = Sum<T>(HalfAwayShift(x4, 2), x3);
  const auto rest =
      static_cast<T>(HalfAwayShift(Sum<T>(HighProduct(cubic, third), x2), 1));
  return SaturatedTo<T>(int64_t{middle} + HighProduct(middle, Sum<T>(x, rest)));
}

// The reciprocal of (1 + x) / 2 with 2 integer bits, by three Newton steps.
template <typename T>
T ReciprocalOfHalf(T x) {
  const int64_t sum = int64_t{x} + std::numeric_limits<T>::max();
  const auto half = static_cast<T>((sum + (sum >= 0 ? 1 : -1)) / 2);
  const T one = T{1} << (kBits<T> - 2);
  T y = Sum<T>(Constant<T>(1515870810),                       // 48 / 17
               HighProduct(half, Constant<T>(-1010580540)));  // -32 / 17
  for (int i = 0; i < 3; ++i) {
    const T error = Sum<T>(one, -int64_t{HighProduct(half, y)});
    y = Sum<T>(y, Narrowed(HighProduct(y, error), 2));
  }
  return y;
}

// -x, wrapping around.
template <typename T>
T Negated(T x) {
  return static_cast<T>(-int64_t{x});
}

}  // namespace

bool IsPowerOfTwo(float scale, int& exponent) {
  const double log2 = Log(double{scale}) * 0x1.71547652b82fep+0;
  const double whole = std::round(log2);
  exponent = static_cast<int>(whole);
  return std::fabs(log2 - whole) < 1e-3;
}

template <typename T>
T SaturatedTo(int64_t value) {
  return static_cast<T>(std::clamp<int64_t>(
      value, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
}

template <typename T>
T HighProduct(T a, T b) {
  const int64_t half = int64_t{1} << (kBits<T> - 1);
  return SaturatedTo<T>((int64_t{a} * b + half) >> kBits<T>);
}

int64_t HalfAwayShift(int64_t value, int n) {
  const int64_t half = n == 0 ? 0 : int64_t{1} << (n - 1);
  const int64_t size = (std::abs(value) + half) >> n;
  return value < 0 ? -size : size;
}

template <typename T>
T FixedExp(T x, int integer_bits) {
  if (x == 0) return std::numeric_limits<T>::max();
  const int fraction = kBits<T> - integer_bits;
  // exp(-32) is nothing; below it no factor is left.
  if (integer_bits > 5 && x < -(int64_t{32} << fraction)) return 0;
  const int64_t quarter = int64_t{1} << (fraction - 2);
  const int64_t last = (x & (quarter - 1)) - quarter;  // In [-1/4, 0).
  T result = ExpOfLastQuarter(Narrowed(static_cast<T>(last), integer_bits));
  // exp(-2^e) for e from -2 on.
  constexpr int32_t kFactors[] = {1672461947, 1302514674, 790015084, 290630308,
                                  39332535,   720401,     242};
  const int64_t rest = last - x;
  for (int e = -2; e <= 4 && e < integer_bits; ++e) {
    if ((rest >> (fraction + e) & 1) == 0) continue;
    result = HighProduct(result, Constant<T>(kFactors[e + 2]));
  }
  return result;
}

template <typename T>
T FixedOneOverOnePlus(T x) {
  return Narrowed(ReciprocalOfHalf(x), 1);
}

template <typename T>
T FixedTanh(T x, int integer_bits) {
  if (x == 0) return 0;
  // (1 - e) / (1 + e) with e = exp(-2 |x|).
  const T e = FixedExp(x < 0 ? x : Negated(x), integer_bits + 1);
  const T one = T{1} << (kBits<T> - 2);
  const T size = Narrowed(Sum<T>(ReciprocalOfHalf(e), -int64_t{one}), 2);
  return x < 0 ? Negated(size) : size;
}

template <typename T>
T FixedSigmoid(T x, int integer_bits) {
  if (x == 0) return T{1} << (kBits<T> - 1);
  const T above =
      FixedOneOverOnePlus(FixedExp(x > 0 ? Negated(x) : x, integer_bits));
  return x > 0 ? above : Sum<T>(std::numeric_limits<T>::max(), -int64_t{above});
}

FixedPointMultiplier FixedInverseSqrt(int32_t value) {
  if (value <= 1) return {std::numeric_limits<int32_t>::max(), 0};
  int right = 11;
  while (value >= 1 << 29) {
    value /= 4;
    ++right;
  }
  const int pairs =
      (std::countl_zero(static_cast<uint32_t>(value)) - 1) / 2 - 1;
  right -= pairs;
  value <<= 2 * pairs;  // In [2^27, 2^29): 1/2 to 2 with 3 integer bits.
  const auto half = static_cast<int32_t>(HalfAwayShift(value >> 1, 1));
  constexpr int32_t kOne = 1 << 28;
  int32_t x = kOne;
  for (int i = 0; i < 5; ++i) {
    const int32_t x3 = Narrowed(HighProduct(HighProduct(x, x), x), 6);
    x = Narrowed(Sum<int32_t>(HighProduct(kOne + kOne / 2, x),
                              -int64_t{HighProduct(half, x3)}),
                 3);
  }
  x = HighProduct(x, 1518500250);  // sqrt(1/2)
  if (right >= 0) return {x, -right};
  return {static_cast<int32_t>(int64_t{x} << -right), 0};
}

FixedPointMultiplier FixedReciprocal(int32_t value) {
  const int zeros = std::countl_zero(static_cast<uint32_t>(value));
  // 2^-k / (1 + x), x the bits below the first.
  const auto x = static_cast<int32_t>((static_cast<uint32_t>(value) << zeros) -
                                      (uint32_t{1} << 31));
  return {FixedOneOverOnePlus(x), zeros - 31};
}

template int16_t SaturatedTo<int16_t>(int64_t);
template int8_t SaturatedTo<int8_t>(int64_t);
template int32_t SaturatedTo<int32_t>(int64_t);
template int16_t HighProduct<int16_t>(int16_t, int16_t);
template int32_t HighProduct<int32_t>(int32_t, int32_t);
template int16_t FixedExp<int16_t>(int16_t, int);
template int32_t FixedExp<int32_t>(int32_t, int);
template int16_t FixedOneOverOnePlus<int16_t>(int16_t);
template int32_t FixedOneOverOnePlus<int32_t>(int32_t);
template int16_t FixedTanh<int16_t>(int16_t, int);
template int32_t FixedTanh<int32_t>(int32_t, int);
template int16_t FixedSigmoid<int16_t>(int16_t, int);
template int32_t FixedSigmoid<int32_t>(int32_t, int);

}  // namespace edgekiln::ops
