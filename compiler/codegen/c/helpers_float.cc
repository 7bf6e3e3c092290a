#include "compiler/codegen/c/helper_table.h"

namespace edgekiln::compiler {

// What libm would give, exactly: every function here has one right answer.
const std::vector<HelperText>& FloatHelpers() {
  static const auto& table = *new std::vector<HelperText>{
      {"bits", R"(static inline uint64_t $bits(double x) {
  union {
    double x;
    uint64_t bits;
  } u;
  u.x = x;
  return u.bits;
}
)"},
      {"from_bits", R"(static inline double $from_bits(uint64_t bits) {
  union {
    uint64_t bits;
    double x;
  } u;
  u.bits = bits;
  return u.x;
}
)"},
      {"bits32", R"(static inline uint32_t $bits32(float x) {
  union {
    float x;
    uint32_t bits;
  } u;
  u.x = x;
  return u.bits;
}
)"},
      {"from_bits32", R"(static inline float $from_bits32(uint32_t bits) {
  union {
    uint32_t bits;
    float x;
  } u;
  u.bits = bits;
  return u.x;
}
)"},
      {"infinity", R"(static inline double $infinity(void) {
  return $from_bits((uint64_t)0x7ff << 52);
}
)"},
      {"nan", R"(static inline double $nan(void) {
  return $from_bits((uint64_t)0x7ff8 << 48);
}
)"},
      {"isnan", R"(static inline int $isnan(double x) {
  return x != x;
}
)"},
      {"isinf", R"(static inline int $isinf(double x) {
  return ($bits(x) & ~((uint64_t)1 << 63)) == (uint64_t)0x7ff << 52;
}
)"},
      {"signbit", R"(static inline int $signbit(double x) {
  return (int)($bits(x) >> 63);
}
)"},
      {"fabs", R"(static inline double $fabs(double x) {
  return $from_bits($bits(x) & ~((uint64_t)1 << 63));
}
)"},
      {"copysign", R"(static inline double $copysign(double x, double sign) {
  const uint64_t top = (uint64_t)1 << 63;
  return $from_bits(($bits(x) & ~top) | ($bits(sign) & top));
}
)"},
      {"trunc", R"(static double $trunc(double x) {
  if (!($fabs(x) < 4503599627370496.0)) return x;
  return $copysign((double)(int64_t)x, x);
}
)"},
      {"floor", R"(static double $floor(double x) {
  const double t = $trunc(x);
  return t > x ? t - 1 : t;
}
)"},
      {"ceil", R"(static double $ceil(double x) {
  const double t = $trunc(x);
  return t < x ? $copysign(t + 1, x) : t;
}
)"},
      {"round", R"(/* Ties away from zero. */
static double $round(double x) {
  const double t = $trunc(x);
  return $fabs(x - t) >= 0.5 ? t + $copysign(1.0, x) : t;
}
)"},
      {"nearbyint", R"(/* Ties to even. */
static double $nearbyint(double x) {
  const double t = $trunc(x);
  const double rest = $fabs(x - t);
  if (rest < 0.5) return t;
  if (rest > 0.5 || ((int64_t)t & 1) != 0) return t + $copysign(1.0, x);
  return t;
}
)"},
      {"sqrt", R"(/* Digit by digit, rounded once. */
static double $sqrt(double x) {
  uint64_t bits, mantissa, root, rest;
  int32_t exponent, i;
  if (!(x > 0)) return x == 0 ? x : x != x ? x : $nan();
  bits = $bits(x);
  exponent = (int32_t)(bits >> 52);
  if (exponent == 0x7ff) return x;
  mantissa = bits & (((uint64_t)1 << 52) - 1);
  if (exponent == 0) {
    exponent = 1;
    while ((mantissa >> 52) == 0) {
      mantissa <<= 1;
      --exponent;
    }
  } else {
    mantissa |= (uint64_t)1 << 52;
  }
  exponent -= 1023;
  if ((exponent & 1) != 0) {
    mantissa <<= 1;
    --exponent;
  }
  /* root^2 <= mantissa * 2^54, bit by bit: 54 bits, the last for rounding. */
  root = 0;
  rest = 0;
  mantissa <<= 10;
  for (i = 0; i < 54; ++i) {
    const uint64_t trial = (root << 2) | 1;
    rest = (rest << 2) | (mantissa >> 62);
    mantissa <<= 2;
    root <<= 1;
    if (rest >= trial) {
      rest -= trial;
      root |= 1;
    }
  }
  /* The result is root / 2^53 * 2^(exponent / 2); never a tie. */
  root = (root >> 1) + (root & 1);
  return $from_bits(root + ((uint64_t)(exponent / 2 + 1022) << 52));
}
)"},
      {"fmod", R"(static double $fmod(double x, double y) {
  uint64_t a = $bits(x) & ~((uint64_t)1 << 63);
  uint64_t b = $bits(y) & ~((uint64_t)1 << 63);
  const uint64_t sign = $bits(x) & ((uint64_t)1 << 63);
  const uint64_t implied = (uint64_t)1 << 52;
  int32_t ea, eb;
  if (b == 0 || x != x || y != y || a >= (uint64_t)0x7ff << 52) return $nan();
  if (a < b) return x;
  ea = (int32_t)(a >> 52);
  eb = (int32_t)(b >> 52);
  a &= implied - 1;
  b &= implied - 1;
  if (ea == 0) ea = 1; else a |= implied;
  if (eb == 0) eb = 1; else b |= implied;
  for (; ea > eb; --ea) {
    if (a >= b) a -= b;
    a <<= 1;
  }
  if (a >= b) a -= b;
  if (a == 0) return $from_bits(sign);
  while ((a & implied) == 0 && ea > 1) {
    a <<= 1;
    --ea;
  }
  if ((a & implied) != 0) a += (uint64_t)(ea - 1) << 52;
  return $from_bits(sign | a);
}
)"},
      {"frexp",
       R"(/* x = result * 2^*exponent, result in [0.5, 1); x > 0 and finite. */
static double $frexp(double x, int32_t *exponent) {
  uint64_t bits = $bits(x);
  int32_t e = (int32_t)(bits >> 52);
  if (e == 0) {
    bits = $bits(x * 18014398509481984.0);
    e = (int32_t)(bits >> 52) - 54;
  }
  *exponent = e - 1022;
  return $from_bits((bits & (((uint64_t)1 << 52) - 1)) | (uint64_t)1022 << 52);
}
)"},
      {"unit", R"(/* Limited to [0, 1] as max(0, min(1, x)). */
static inline double $unit(double x) {
  const double low = x < 1.0 ? x : 1.0;
  return 0.0 < low ? low : 0.0;
}
)"},
      {"limited", R"(/* Whole steps limited to [lo, hi]; NaN gives lo. */
static inline int32_t $limited(double steps, int32_t lo, int32_t hi) {
  return steps > lo ? (int32_t)(steps > hi ? hi : steps) : lo;
}
)"},
      {"small_whole",
       R"(/* Positive steps as an integer, at most 1024; NaN gives -1024. */
static inline int32_t $small_whole(float steps) {
  return steps >= 1024.0f ? 1024 : steps > 0.0f ? (int32_t)steps : -1024;
}
)"},
      {"float_from_half", R"(static float $float_from_half(uint16_t half) {
  const uint32_t sign = (uint32_t)(half & 0x8000u) << 16;
  const uint32_t size = (uint32_t)(half & 0x7fffu) << 13;
  const uint32_t normal =
      size + (size < 0x0f800000u ? (uint32_t)112 << 23 : (uint32_t)224 << 23);
  const float steps = (float)(int32_t)(size >> 13);
  const uint32_t small = $bits32(steps * 0x1p-24f);
  return $from_bits32(sign | (size < 0x00800000u ? small : normal));
}
)"},
      {"half_from_float", R"(static uint16_t $half_from_float(float value) {
  const uint32_t bits = $bits32(value);
  const uint32_t size = bits & 0x7fffffffu;
  uint32_t result;
  if (size < 0x38800000u) {
    result = $bits32($from_bits32(size) + 0.5f) - 0x3f000000u;
  } else if (size < 0x47800000u) {
    result = (size - ((uint32_t)112 << 23) + 0xfffu + (size >> 13 & 1u)) >> 13;
  } else {
    result = size > 0x7f800000u ? 0x7e00u : 0x7c00u;
  }
  return (uint16_t)((bits >> 16 & 0x8000u) | result);
}
)"},
      {"half_from_double", R"(static uint16_t $half_from_double(double value) {
  const uint16_t sign = (uint16_t)($signbit(value) ? 0x8000 : 0);
  const double size = $fabs(value);
  int32_t exponent = -13;
  double unit;
  if (value != value) return (uint16_t)(sign | 0x7e00);
  if (size >= 65520.0) return (uint16_t)(sign | 0x7c00);
  if (size != 0) $frexp(size, &exponent);
  if (exponent < -13) exponent = -13;
  unit = $from_bits((uint64_t)(11 - exponent + 1023) << 52);
  return (uint16_t)(sign + ((exponent + 13) * 1024) +
                    (int32_t)$nearbyint(size * unit));
}
)"},
  };
  return table;
}

}  // namespace edgekiln::compiler
