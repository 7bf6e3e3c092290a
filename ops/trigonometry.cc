#include "ops/trigonometry.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>

#include "ops/exp.h"
#include "ops/real_math.h"

namespace edgekiln::ops {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kLn2 = 0x1.62e42fefa39efp-1;
constexpr double kHalfPi = 0x1.921fb54442d18p+0;
constexpr double kQuarterPi = 0x1.921fb54442d18p-1;

using Wide = unsigned __int128;

// The bits of 2 / pi behind the binary point, enough for any double.
constexpr uint64_t kTwoByPi[] = {
    0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041,
    0xfe5163abdebbc561, 0xb7246e3a424dd2e0, 0x06492eea09d1921c,
    0xfe1deb1cb129a73e, 0xe88235f52ebb4484, 0xe99c7026b45f7e41,
    0x3991d639835339f4, 0x9c845f8bbdf9283b, 0x1ff897ffde05980f,
    0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d,
    0x7527bac7ebe5f17b, 0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08,
    0x56033046fc7b6bab, 0xf0cfbc209af4361d};

// 64 bits of 2 / pi, the first of weight 2^-(first + 1); zeros in front.
uint64_t BitsOfTwoByPi(int first) {
  const auto word = [](int i) {
    return i < 0 || i >= static_cast<int>(std::size(kTwoByPi)) ? uint64_t{0}
                                                               : kTwoByPi[i];
  };
  const int at = first >= 0 ? first / 64 : -((63 - first) / 64);
  const int shift = first - at * 64;
  if (shift == 0) return word(at);
  return word(at) << shift | word(at + 1) >> (64 - shift);
}

// x = quadrant * pi/2 + rest, |rest| <= pi/4; the quadrant modulo 4.
struct Reduced {
  int quadrant;
  double rest;
};

// Payne and Hanek: the product with those bits of 2 / pi that matter modulo 4,
// in integers. 190 bits behind the binary point: the double closest to a
// multiple of pi/2 leaves 2^-61.
Reduced Reduce(double x) {
  if (std::fabs(x) <= kQuarterPi) return {0, x};
  const auto bits = std::bit_cast<uint64_t>(std::fabs(x));
  const int exponent = static_cast<int>(bits >> 52) - 1075;
  const uint64_t m = (bits & ((uint64_t{1} << 52) - 1)) | uint64_t{1} << 52;
  // |x| = m * 2^exponent. Bits in front of these give multiples of 4.
  const int first = exponent - 2;
  const Wide low = Wide{m} * BitsOfTwoByPi(first + 128);
  const Wide middle = Wide{m} * BitsOfTwoByPi(first + 64) + (low >> 64);
  const uint64_t high =
      m * BitsOfTwoByPi(first) + static_cast<uint64_t>(middle >> 64);
  // Two bits in front of the point, 126 behind.
  Wide turns = Wide{high} << 64 | static_cast<uint64_t>(middle);
  int quadrant = static_cast<int>(high >> 62);
  turns <<= 2;
  const bool up = (turns >> 127) != 0;  // Half or more: count from above.
  if (up) {
    turns = ~turns + 1;
    quadrant = (quadrant + 1) & 3;
  }
  double rest = (static_cast<double>(static_cast<uint64_t>(turns >> 64)) +
                 static_cast<double>(static_cast<uint64_t>(turns)) * 0x1p-64) *
                0x1p-64 * kHalfPi;
  if (up) rest = -rest;
  if (x < 0) return {(4 - quadrant) & 3, -rest};
  return {quadrant, rest};
}

// Taylor series for |x| <= pi/4: the first terms left out are below 2^-58.
double SinNearZero(double x) {
  constexpr double kInverseFactorial[] = {
      1.0,
      -1.0 / 6,
      1.0 / 120,
      -1.0 / 5040,
      1.0 / 362880,
      -1.0 / 39916800,
      1.0 / 6227020800,
      -1.0 / 1307674368000,
      1.0 / 355687428096000,
  };
  const double square = x * x;
  double sum = kInverseFactorial[8];
  for (int i = 7; i >= 0; --i) sum = sum * square + kInverseFactorial[i];
  return x * sum;
}

double CosNearZero(double x) {
  constexpr double kInverseFactorial[] = {
      1.0,
      -1.0 / 2,
      1.0 / 24,
      -1.0 / 720,
      1.0 / 40320,
      -1.0 / 3628800,
      1.0 / 479001600,
      -1.0 / 87178291200,
      1.0 / 20922789888000,
  };
  const double square = x * x;
  double sum = kInverseFactorial[8];
  for (int i = 7; i >= 0; --i) sum = sum * square + kInverseFactorial[i];
  return sum;
}

double SinOf(const Reduced& r) {
  const double size =
      r.quadrant % 2 == 0 ? SinNearZero(r.rest) : CosNearZero(r.rest);
  return r.quadrant >= 2 ? -size : size;
}

double CosOf(const Reduced& r) { return SinOf({(r.quadrant + 1) & 3, r.rest}); }

// e^x / 2 for x > 700: e^x itself may be beyond the largest double.
double HalfExp(double x) {
  const double root = Exp(x / 2);
  return root / 2 * root;
}

}  // namespace

double Sin(double x) {
  if (!std::isfinite(x)) return kNan;
  return SinOf(Reduce(x));
}

double Cos(double x) {
  if (!std::isfinite(x)) return kNan;
  return CosOf(Reduce(x));
}

double Tan(double x) {
  if (!std::isfinite(x)) return kNan;
  const Reduced r = Reduce(x);
  return SinOf(r) / CosOf(r);
}

double Atan(double x) {
  if (std::isnan(x)) return kNan;
  const double size = std::fabs(x);
  const bool above = size > 1;
  double t = above ? 1 / size : size;
  const bool wide = t > 0x1.a827999fcef32p-2;  // tan(pi/8)
  if (wide) t = (t - 1) / (t + 1);
  // The first term left out is below 2^-58 of the sum.
  constexpr int kTerms = 21;
  const double square = t * t;
  double sum = 1.0 / (2 * kTerms + 1);
  for (int k = kTerms - 1; k >= 0; --k) {
    sum = 1.0 / (2 * k + 1) - sum * square;
  }
  double angle = t * sum;
  if (wide) angle += kQuarterPi;
  if (above) angle = kHalfPi - angle;
  return std::copysign(angle, x);
}

double Asin(double x) {
  const double square = (1 - x) * (1 + x);
  if (!(square >= 0)) return kNan;
  return Atan(x / std::sqrt(square));
}

double Acos(double x) {
  if (!(std::fabs(x) <= 1)) return kNan;
  return 2 * Atan(std::sqrt((1 - x) / (1 + x)));
}

double Sinh(double x) {
  const double size = std::fabs(x);
  if (size > 700) return std::copysign(HalfExp(size), x);
  const double e = Expm1(size);
  return std::copysign((e + e / (e + 1)) / 2, x);
}

double Cosh(double x) {
  const double size = std::fabs(x);
  if (size > 700) return HalfExp(size);
  const double e = Exp(size);
  return (e + 1 / e) / 2;
}

double Asinh(double x) {
  const double size = std::fabs(x);
  if (size > 0x1p500) return std::copysign(Log(size) + kLn2, x);
  const double square = size * size;
  return std::copysign(Log1p(size + square / (1 + std::sqrt(1 + square))), x);
}

double Acosh(double x) {
  if (!(x >= 1)) return kNan;
  if (x > 0x1p500) return Log(x) + kLn2;
  const double beyond = x - 1;
  return Log1p(beyond + std::sqrt(beyond * (x + 1)));
}

double Atanh(double x) {
  const double size = std::fabs(x);
  if (!(size <= 1)) return kNan;
  if (size == 1) return std::copysign(kInfinity, x);
  return std::copysign(Log1p(2 * size / (1 - size)) / 2, x);
}

}  // namespace edgekiln::ops
