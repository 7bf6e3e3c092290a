#include "compiler/codegen/c/helper_table.h"

namespace edgekiln::compiler {

// ops/exp.cc and ops/real_math.cc, operation by operation (docs/numerics.md
// 5.1, 5.2).
const std::vector<HelperText>& MathHelpers() {
  static const auto& table = *new std::vector<HelperText>{
      {"power_of_two", R"(static inline double $power_of_two(int32_t n) {
  return $from_bits((uint64_t)(n + 1023) << 52);
}
)"},
      {"exp", R"(static double $exp(double x) {
  static const double factors[14] = {
      1.0,           1.0,           1.0 / 2,        1.0 / 6,
      1.0 / 24,      1.0 / 120,     1.0 / 720,      1.0 / 5040,
      1.0 / 40320,   1.0 / 362880,  1.0 / 3628800,  1.0 / 39916800,
      1.0 / 479001600, 1.0 / 6227020800.0};
  double n, r, sum;
  int32_t i, whole, half;
  if (x != x) return x;
  if (x > 709.79) return $infinity();
  if (x < -745.2) return 0;
  n = $floor(x * 0x1.71547652b82fep+0 + 0.5);
  r = (x - n * 0x1.62e42feep-1) - n * 0x1.a39ef35793c76p-33;
  sum = factors[13];
  for (i = 12; i >= 0; --i) sum = sum * r + factors[i];
  whole = (int32_t)n;
  half = whole / 2;
  return sum * $power_of_two(half) * $power_of_two(whole - half);
}
)"},
      {"twice_atanh", R"(static double $twice_atanh(double s) {
  const double square = s * s;
  double sum = 1.0 / 23;
  int32_t k;
  for (k = 10; k >= 0; --k) sum = sum * square + 1.0 / (2 * k + 1);
  return 2 * s * sum;
}
)"},
      {"log", R"(static double $log(double x) {
  int32_t exponent = 0;
  double m, n;
  if (x != x || x < 0) return $nan();
  if (x == 0) return -$infinity();
  if ($isinf(x)) return x;
  m = $frexp(x, &exponent);
  if (m < 0x1.6a09e667f3bcdp-1) {
    m *= 2;
    --exponent;
  }
  n = exponent;
  return n * 0x1.62e42feep-1 +
         (n * 0x1.a39ef35793c76p-33 + $twice_atanh((m - 1) / (m + 1)));
}
)"},
      {"log1p", R"(static double $log1p(double x) {
  return x < 0.4 ? $twice_atanh(x / (2 + x)) : $log(1 + x);
}
)"},
      {"expm1", R"(static double $expm1(double x) {
  double sum = 1;
  int32_t i;
  if (!($fabs(x) < 0.35)) return $exp(x) - 1;
  for (i = 13; i >= 2; --i) sum = sum * (x / i) + 1;
  return x * sum;
}
)"},
      {"tanh", R"(static double $tanh(double x) {
  const double e = $expm1(-2 * $fabs(x));
  return $copysign(-e / (e + 2), x);
}
)"},
      {"sigmoid", R"(static double $sigmoid(double x) {
  return 1 / (1 + $exp(-x));
}
)"},
      {"erf", R"(static double $erf(double x) {
  const double size = $fabs(x);
  double square, term, sum;
  int32_t n;
  if (x != x) return x;
  if (size >= 6) return $copysign(1.0, x);
  square = size * size;
  term = size;
  sum = size;
  for (n = 1; term > sum * 0x1p-55; ++n) {
    term *= 2 * square / (2 * n + 1);
    sum += term;
  }
  return $copysign(0x1.20dd750429b6dp+0 * $exp(-square) * sum, x);
}
)"},
      {"whole_power",
       R"(static double $whole_power(double x, int32_t exponent) {
  double result = 1;
  int32_t left = exponent < 0 ? -exponent : exponent;
  for (; left > 0; left /= 2) {
    if (left % 2 == 1) result *= x;
    x *= x;
  }
  return exponent < 0 ? 1 / result : result;
}
)"},
      {"pow", R"(static double $pow(double x, double y) {
  double size, result;
  int whole, negative;
  if (y == 0 || x == 1) return 1;
  if (x != x || y != y) return $nan();
  size = $fabs(x);
  if ($isinf(y)) {
    if (size == 1) return 1;
    return (size > 1) == (y > 0) ? $infinity() : 0;
  }
  whole = $floor(y) == y;
  negative = $signbit(x) && whole && y - 2 * $floor(y / 2) == 1;
  if (x == 0 || $isinf(x)) {
    result = (x == 0) == (y > 0) ? 0 : $infinity();
    return negative ? -result : result;
  }
  if (x < 0 && !whole) return $nan();
  if (whole && $fabs(y) <= 64) return $whole_power(x, (int32_t)y);
  if (y == 0.5) return $sqrt(x);
  result = $exp(y * $log(size));
  return negative ? -result : result;
}
)"},
      {"reflectf", R"(/* `at` mirrored at both ends until it is between them. */
static float $reflectf(float at, float low, float high) {
  const float range = high - low;
  const int below = at < low;
  float beyond, times, rest;
  int even;
  if (range <= 0) return low;
  if (!below && at <= high) return at;
  beyond = below ? low - at : at - high;
  times = (float)$trunc((double)(beyond / range));
  rest = beyond - times * range;
  even = $fmod((double)times, 2.0) == 0;
  return even == below ? low + rest : high - rest;
}
)"},
      {"reflect", R"(/* `at` mirrored at both ends until it is between them. */
static double $reflect(double at, double low, double high) {
  const double range = high - low;
  const int below = at < low;
  double beyond, times, rest;
  int even;
  if (range <= 0) return low;
  if (!below && at <= high) return at;
  beyond = below ? low - at : at - high;
  times = (double)$trunc((double)(beyond / range));
  rest = beyond - times * range;
  even = $fmod((double)times, 2.0) == 0;
  return even == below ? low + rest : high - rest;
}
)"},
  };
  return table;
}

}  // namespace edgekiln::compiler
