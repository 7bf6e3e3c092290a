#include "compiler/codegen/c/helper_table.h"

namespace edgekiln::compiler {

// ops/trigonometry.cc, operation by operation (docs/numerics.md 5.5). Products
// of 64 bits in four of 32, as C99 has no wider integers.
const std::vector<HelperText>& TrigonometryHelpers() {
  static const auto& table = *new std::vector<HelperText>{
      {"two_by_pi",
       R"(/* 64 bits of 2 / pi, the first of weight 2^-(first + 1). */
static uint64_t $two_by_pi(int32_t first) {
  static const uint64_t words[20] = {
      0xa2f9836e4e441529u, 0xfc2757d1f534ddc0u, 0xdb6295993c439041u,
      0xfe5163abdebbc561u, 0xb7246e3a424dd2e0u, 0x06492eea09d1921cu,
      0xfe1deb1cb129a73eu, 0xe88235f52ebb4484u, 0xe99c7026b45f7e41u,
      0x3991d639835339f4u, 0x9c845f8bbdf9283bu, 0x1ff897ffde05980fu,
      0xef2f118b5a0a6d1fu, 0x6d367ecf27cb09b7u, 0x4f463f669e5fea2du,
      0x7527bac7ebe5f17bu, 0x3d0739f78a5292eau, 0x6bfb5fb11f8d5d08u,
      0x56033046fc7b6babu, 0xf0cfbc209af4361du};
  const int32_t at = first >= 0 ? first / 64 : -((63 - first) / 64);
  const int32_t shift = first - at * 64;
  const uint64_t high = at < 0 || at >= 20 ? 0 : words[at];
  const uint64_t low = at + 1 < 0 || at + 1 >= 20 ? 0 : words[at + 1];
  if (shift == 0) return high;
  return high << shift | low >> (64 - shift);
}
)"},
      {"mul_high", R"(/* The upper half of a * b. */
static uint64_t $mul_high(uint64_t a, uint64_t b) {
  const uint64_t mask = 0xffffffffu;
  const uint64_t low = (a & mask) * (b & mask);
  const uint64_t left = (a >> 32) * (b & mask) + (low >> 32);
  const uint64_t right = (a & mask) * (b >> 32) + (left & mask);
  return (a >> 32) * (b >> 32) + (left >> 32) + (right >> 32);
}
)"},
      {"reduce",
       R"(/* x = quadrant * pi/2 + *rest; returns the quadrant modulo 4. */
static int32_t $reduce(double x, double *rest) {
  uint64_t bits, m, b, low_high, middle, high, top, bottom;
  int32_t exponent, first, quadrant;
  int up;
  if ($fabs(x) <= 0x1.921fb54442d18p-1) {
    *rest = x;
    return 0;
  }
  bits = $bits($fabs(x));
  exponent = (int32_t)(bits >> 52) - 1075;
  m = (bits & (((uint64_t)1 << 52) - 1)) | (uint64_t)1 << 52;
  first = exponent - 2;
  low_high = $mul_high(m, $two_by_pi(first + 128));
  b = $two_by_pi(first + 64);
  middle = m * b + low_high;
  high = m * $two_by_pi(first) + $mul_high(m, b) + (middle < low_high ? 1u : 0u);
  quadrant = (int32_t)(high >> 62);
  top = high << 2 | middle >> 62;
  bottom = middle << 2;
  up = (int)(top >> 63);
  if (up) {
    bottom = ~bottom + 1;
    top = ~top + (bottom == 0 ? 1u : 0u);
    quadrant = (quadrant + 1) & 3;
  }
  *rest = ((double)top + (double)bottom * 0x1p-64) * 0x1p-64 *
          0x1.921fb54442d18p+0;
  if (up) *rest = -*rest;
  if (x < 0) {
    *rest = -*rest;
    return (4 - quadrant) & 3;
  }
  return quadrant;
}
)"},
      {"sin_of", R"(static double $sin_of(int32_t quadrant, double x) {
  static const double sines[9] = {
      1.0, -1.0 / 6, 1.0 / 120, -1.0 / 5040, 1.0 / 362880, -1.0 / 39916800,
      1.0 / 6227020800.0, -1.0 / 1307674368000.0, 1.0 / 355687428096000.0};
  static const double cosines[9] = {
      1.0, -1.0 / 2, 1.0 / 24, -1.0 / 720, 1.0 / 40320, -1.0 / 3628800,
      1.0 / 479001600, -1.0 / 87178291200.0, 1.0 / 20922789888000.0};
  const double square = x * x;
  const double *factors = quadrant % 2 == 0 ? sines : cosines;
  double sum = factors[8];
  int32_t i;
  for (i = 7; i >= 0; --i) sum = sum * square + factors[i];
  if (quadrant % 2 == 0) sum = x * sum;
  return quadrant >= 2 ? -sum : sum;
}
)"},
      {"sin", R"(static double $sin(double x) {
  double rest;
  int32_t quadrant;
  if (!($fabs(x) < $infinity())) return $nan();
  quadrant = $reduce(x, &rest);
  return $sin_of(quadrant, rest);
}
)"},
      {"cos", R"(static double $cos(double x) {
  double rest;
  int32_t quadrant;
  if (!($fabs(x) < $infinity())) return $nan();
  quadrant = $reduce(x, &rest);
  return $sin_of((quadrant + 1) & 3, rest);
}
)"},
      {"tan", R"(static double $tan(double x) {
  double rest;
  int32_t quadrant;
  if (!($fabs(x) < $infinity())) return $nan();
  quadrant = $reduce(x, &rest);
  return $sin_of(quadrant, rest) / $sin_of((quadrant + 1) & 3, rest);
}
)"},
      {"atan", R"(static double $atan(double x) {
  const double size = $fabs(x);
  const int above = size > 1;
  double t = above ? 1 / size : size;
  const int wide = t > 0x1.a827999fcef32p-2;
  double square, sum, angle;
  int32_t k;
  if (x != x) return $nan();
  if (wide) t = (t - 1) / (t + 1);
  square = t * t;
  sum = 1.0 / 43;
  for (k = 20; k >= 0; --k) sum = 1.0 / (2 * k + 1) - sum * square;
  angle = t * sum;
  if (wide) angle += 0x1.921fb54442d18p-1;
  if (above) angle = 0x1.921fb54442d18p+0 - angle;
  return $copysign(angle, x);
}
)"},
      {"asin", R"(static double $asin(double x) {
  const double square = (1 - x) * (1 + x);
  if (!(square >= 0)) return $nan();
  return $atan(x / $sqrt(square));
}
)"},
      {"acos", R"(static double $acos(double x) {
  if (!($fabs(x) <= 1)) return $nan();
  return 2 * $atan($sqrt((1 - x) / (1 + x)));
}
)"},
      {"half_exp", R"(static double $half_exp(double x) {
  const double root = $exp(x / 2);
  return root / 2 * root;
}
)"},
      {"sinh", R"(static double $sinh(double x) {
  const double size = $fabs(x);
  double e;
  if (size > 700) return $copysign($half_exp(size), x);
  e = $expm1(size);
  return $copysign((e + e / (e + 1)) / 2, x);
}
)"},
      {"cosh", R"(static double $cosh(double x) {
  const double size = $fabs(x);
  double e;
  if (size > 700) return $half_exp(size);
  e = $exp(size);
  return (e + 1 / e) / 2;
}
)"},
      {"asinh", R"(static double $asinh(double x) {
  const double size = $fabs(x);
  double square;
  if (size > 0x1p500) {
    return $copysign($log(size) + 0x1.62e42fefa39efp-1, x);
  }
  square = size * size;
  return $copysign($log1p(size + square / (1 + $sqrt(1 + square))), x);
}
)"},
      {"acosh", R"(static double $acosh(double x) {
  double beyond;
  if (!(x >= 1)) return $nan();
  if (x > 0x1p500) return $log(x) + 0x1.62e42fefa39efp-1;
  beyond = x - 1;
  return $log1p(beyond + $sqrt(beyond * (x + 1)));
}
)"},
      {"atanh", R"(static double $atanh(double x) {
  const double size = $fabs(x);
  if (!(size <= 1)) return $nan();
  if (size == 1) return $copysign($infinity(), x);
  return $copysign($log1p(2 * size / (1 - size)) / 2, x);
}
)"},
  };
  return table;
}

}  // namespace edgekiln::compiler
