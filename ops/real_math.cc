#include "ops/real_math.h"

#include <cmath>
#include <limits>

#include "ops/exp.h"

namespace edgekiln::ops {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// 2 * atanh(s) = log((1 + s) / (1 - s)) for |s| <= 0.1716: the first term left
// out is below 2^-59 of the sum.
double TwiceAtanh(double s) {
  constexpr int kTerms = 11;
  const double square = s * s;
  double sum = 1.0 / (2 * kTerms + 1);
  for (int k = kTerms - 1; k >= 0; --k) {
    sum = sum * square + 1.0 / (2 * k + 1);
  }
  return 2 * s * sum;
}

bool IsWhole(double y) { return std::floor(y) == y; }

// Of a whole number; beyond 2^53 all are even.
bool IsOdd(double y) { return y - 2 * std::floor(y / 2) == 1; }

double WholePower(double x, int exponent) {
  double result = 1;
  for (int left = exponent < 0 ? -exponent : exponent; left > 0; left /= 2) {
    if (left % 2 == 1) result *= x;
    x *= x;
  }
  return exponent < 0 ? 1 / result : result;
}

}  // namespace

double Log(double x) {
  if (std::isnan(x) || x < 0) return kNan;
  if (x == 0) return -kInfinity;
  if (std::isinf(x)) return x;
  int exponent = 0;
  double m = std::frexp(x, &exponent);  // In [0.5, 1).
  if (m < 0x1.6a09e667f3bcdp-1) {       // sqrt(1/2)
    m *= 2;
    --exponent;
  }
  // ln 2 in two parts, so that exponent * kLn2High is exact.
  constexpr double kLn2High = 0x1.62e42feep-1;
  constexpr double kLn2Low = 0x1.a39ef35793c76p-33;
  const double n = exponent;
  return n * kLn2High + (n * kLn2Low + TwiceAtanh((m - 1) / (m + 1)));
}

double Log1p(double x) {
  return x < 0.4 ? TwiceAtanh(x / (2 + x)) : Log(1 + x);
}

double Expm1(double x) {
  if (!(std::fabs(x) < 0.35)) return Exp(x) - 1;
  // Taylor series: the first term left out is below 2^-57 of the sum.
  double sum = 1;
  for (int i = 13; i >= 2; --i) sum = sum * (x / i) + 1;
  return x * sum;
}

double Tanh(double x) {
  const double e = Expm1(-2 * std::fabs(x));
  return std::copysign(-e / (e + 2), x);
}

double Sigmoid(double x) { return 1 / (1 + Exp(-x)); }

double Erf(double x) {
  const double size = std::fabs(x);
  if (std::isnan(x)) return x;
  if (size >= 6) return std::copysign(1.0, x);
  // 2 / sqrt(pi) * exp(-x^2) * (x + x^3 * 2/3 + x^5 * 4/15 + ...): all terms of
  // one sign.
  constexpr double kTwoBySqrtPi = 0x1.20dd750429b6dp+0;
  const double square = size * size;
  double term = size;
  double sum = size;
  for (int n = 1; term > sum * 0x1p-55; ++n) {
    term *= 2 * square / (2 * n + 1);
    sum += term;
  }
  return std::copysign(kTwoBySqrtPi * Exp(-square) * sum, x);
}

double Pow(double x, double y) {
  if (y == 0 || x == 1) return 1;
  if (std::isnan(x) || std::isnan(y)) return kNan;
  const double size = std::fabs(x);
  const bool whole = IsWhole(y) && !std::isinf(y);
  if (std::isinf(y)) {
    if (size == 1) return 1;
    return (size > 1) == (y > 0) ? kInfinity : 0;
  }
  const bool negative = std::signbit(x) && whole && IsOdd(y);
  if (x == 0 || std::isinf(x)) {
    const double result = (x == 0) == (y > 0) ? 0 : kInfinity;
    return negative ? -result : result;
  }
  if (x < 0 && !whole) return kNan;
  if (whole && std::fabs(y) <= 64) return WholePower(x, static_cast<int>(y));
  if (y == 0.5) return std::sqrt(x);
  const double result = Exp(y * Log(size));
  return negative ? -result : result;
}

}  // namespace edgekiln::ops
