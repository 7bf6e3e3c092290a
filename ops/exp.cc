#include "ops/exp.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace edgekiln::ops {
namespace {

// 2^n for n in [-1022, 1023], from its bit pattern.
double PowerOfTwo(int n) {
  return std::bit_cast<double>(static_cast<uint64_t>(n + 1023) << 52);
}

}  // namespace

double Exp(double x) {
  if (std::isnan(x)) return x;
  if (x > 709.79) return std::numeric_limits<double>::infinity();
  if (x < -745.2) return 0;
  // x = n * ln 2 + r. ln 2 is split so that n * kLn2High is exact.
  constexpr double kLog2E = 0x1.71547652b82fep+0;
  constexpr double kLn2High = 0x1.62e42feep-1;
  constexpr double kLn2Low = 0x1.a39ef35793c76p-33;
  const double n = std::floor(x * kLog2E + 0.5);
  const double r = (x - n * kLn2High) - n * kLn2Low;
  // Taylor series, |r| <= 0.3466: the first term left out is below 2^-57.
  constexpr double kInverseFactorial[] = {
      1.0,
      1.0,
      1.0 / 2,
      1.0 / 6,
      1.0 / 24,
      1.0 / 120,
      1.0 / 720,
      1.0 / 5040,
      1.0 / 40320,
      1.0 / 362880,
      1.0 / 3628800,
      1.0 / 39916800,
      1.0 / 479001600,
      1.0 / 6227020800,
  };
  double sum = kInverseFactorial[13];
  for (int i = 12; i >= 0; --i) sum = sum * r + kInverseFactorial[i];
  // In two factors, since 2^n itself may leave the range of normal numbers.
  const int whole = static_cast<int>(n);
  const int half = whole / 2;
  return sum * PowerOfTwo(half) * PowerOfTwo(whole - half);
}

}  // namespace edgekiln::ops
