#include "compiler/codegen/c/helper_table.h"

namespace edgekiln::compiler {

// Right shifts of negative numbers are arithmetic in every compiler that
// counts; left shifts of them are multiplications, as C leaves them undefined.
const std::vector<HelperText>& IntegerHelpers() {
  static const auto& table = *new std::vector<HelperText>{
      {"mulh", R"(static inline int32_t $mulh(int32_t a, int32_t b) {
  return (int32_t)(((int64_t)a * b) >> 32);
}
)"},
      {"round_up", R"(/* product / 2^n, ties upwards. */
static inline int64_t $round_up(int64_t product, int32_t n) {
  return (int64_t)((uint64_t)product + ((uint64_t)1 << (n - 1))) >> n;
}
)"},
      {"round_even", R"(/* product / 2^n, ties to even. */
static inline int64_t $round_even(int64_t product, int32_t n) {
  const int64_t lifted =
      (int64_t)((uint64_t)product + ((uint64_t)1 << (n - 1)));
  const int64_t result = lifted >> n;
  return ((uint64_t)lifted & (((uint64_t)1 << n) - 1)) == 0
             ? result & ~(int64_t)1
             : result;
}
)"},
      {"round_floor", R"(/* product / 2^n, downwards. */
static inline int64_t $round_floor(int64_t product, int32_t n) {
  return product >> n;
}
)"},
      {"hidden",
       R"(/* The same address; that it is of constants is kept from the optimizer,
   which would load them ahead of loops and run out of registers. */
static inline const int8_t *$hidden(const int8_t *at) {
#if defined(__GNUC__)
  __asm__("" : "+r"(at));
#endif
  return at;
}
)"},
      {"copy4", R"(/* Four bytes at once; both are aligned to four. */
static inline void $copy4(void *to, const void *from) {
  *(uint32_t *)to = *(const uint32_t *)from;
}
)"},
      {"limit",
       R"(static inline int64_t $limit(int64_t v, int64_t lo, int64_t hi) {
  v = v < lo ? lo : v;
  return v > hi ? hi : v;
}
)"},
      {"clamp",
       R"(static inline int32_t $clamp(int32_t v, int32_t lo, int32_t hi) {
  v = v < lo ? lo : v;
  return v > hi ? hi : v;
}
)"},
      {"finish_up", R"(/* v * m / 2^n rounded, plus zero, limited. */
static inline int32_t $finish_up(int32_t v, int32_t m, int32_t n, int32_t zero,
                                 int32_t lo, int32_t hi) {
  return (int32_t)$limit(
      (int64_t)(int32_t)$round_up((int64_t)v * m, n) + zero, lo, hi);
}
)"},
      {"finish_even", R"(/* The same, ties to even. */
static inline int32_t $finish_even(int32_t v, int32_t m, int32_t n,
                                   int32_t zero, int32_t lo, int32_t hi) {
  return (int32_t)$limit(
      (int64_t)(int32_t)$round_even((int64_t)v * m, n) + zero, lo, hi);
}
)"},
      {"finish_floor", R"(/* The same, downwards. */
static inline int32_t $finish_floor(int32_t v, int32_t m, int32_t n,
                                    int32_t zero, int32_t lo, int32_t hi) {
  return (int32_t)$limit(
      (int64_t)(int32_t)$round_floor((int64_t)v * m, n) + zero, lo, hi);
}
)"},
      {"average", R"(/* sum / count, ties away from zero. */
static inline int64_t $average(int64_t sum, int64_t count) {
  return sum > 0 ? (sum + count / 2) / count : (sum - count / 2) / count;
}
)"},
      {"average32", R"(/* The same where sum + count / 2 is small. */
static inline int32_t $average32(int32_t sum, int32_t count) {
  return sum > 0 ? (sum + count / 2) / count : (sum - count / 2) / count;
}
)"},
      {"average_even", R"(/* sum / count, ties to even. */
static inline int64_t $average_even(int64_t sum, int64_t count) {
  const int64_t down = sum / count - (sum % count < 0 ? 1 : 0);
  const int64_t twice = 2 * (sum - down * count);
  return twice > count || (twice == count && down % 2 != 0) ? down + 1 : down;
}
)"},
      {"clz", R"(/* Zero bits before the first one of 32. */
static inline int32_t $clz(uint32_t v) {
  int32_t n = 32;
  while (v != 0) {
    v >>= 1;
    --n;
  }
  return n;
}
)"},
      {"half_away", R"(/* v / 2^n, ties away from zero. */
static inline int64_t $half_away(int64_t v, int32_t n) {
  const int64_t half = n == 0 ? 0 : (int64_t)1 << (n - 1);
  const int64_t size = ((v < 0 ? -v : v) + half) >> n;
  return v < 0 ? -size : size;
}
)"},
      {"sat16", R"(static inline int32_t $sat16(int64_t v) {
  return v < -32768 ? -32768 : v > 32767 ? 32767 : (int32_t)v;
}
)"},
      {"sat32", R"(static inline int32_t $sat32(int64_t v) {
  return v < -2147483647 - 1   ? -2147483647 - 1
         : v > 2147483647      ? 2147483647
                               : (int32_t)v;
}
)"},
      {"interpolate", R"(/* A table of 513 values at x of 16 bits. */
static int32_t $interpolate(const int16_t *values, int32_t x) {
  const int32_t piece = 256 + (x >> 7);
  const int32_t base = values[piece];
  const int32_t slope = (int16_t)(values[piece + 1] - base);
  return (int16_t)(base + ((slope * (x & 127) + 64) >> 7));
}
)"},
      {"high32", R"(/* a * b / 2^31, half up, saturated. */
static inline int32_t $high32(int32_t a, int32_t b) {
  return $sat32(((int64_t)a * b + 1073741824) >> 31);
}
)"},
      {"high16", R"(/* a * b / 2^15, half up, saturated. */
static inline int32_t $high16(int32_t a, int32_t b) {
  return $sat16(((int64_t)a * b + 16384) >> 15);
}
)"},
      {"one_over_half", R"(/* 2 / (1 + x) with 2 integer bits. */
static int32_t $one_over_half(int32_t x) {
  const int64_t sum = (int64_t)x + 2147483647;
  const int32_t half = (int32_t)((sum + (sum >= 0 ? 1 : -1)) / 2);
  int32_t y = (int32_t)((int64_t)1515870810 + $high32(half, -1010580540));
  int32_t i;
  for (i = 0; i < 3; ++i) {
    const int32_t error = (int32_t)((int64_t)536870912 - $high32(half, y));
    y = (int32_t)((int64_t)y + $sat32((int64_t)$high32(y, error) * 4));
  }
  return y;
}
)"},
      {"inverse_root", R"(/* 1 / sqrt(v) = *m * 2^(*shift - 31). */
static void $inverse_root(int32_t v, int32_t *m, int32_t *shift) {
  int32_t right = 11;
  int32_t pairs, half, x, i;
  if (v <= 1) {
    *m = 2147483647;
    *shift = 0;
    return;
  }
  while (v >= 536870912) {
    v /= 4;
    ++right;
  }
  pairs = ($clz((uint32_t)v) - 1) / 2 - 1;
  right -= pairs;
  v = (int32_t)((uint32_t)v << (2 * pairs));
  half = (int32_t)$half_away(v >> 1, 1);
  x = 268435456;
  for (i = 0; i < 5; ++i) {
    const int32_t x3 =
        $sat32((int64_t)$high32($high32(x, x), x) * 64);
    x = $sat32((int64_t)(int32_t)((int64_t)$high32(402653184, x) -
                                  $high32(half, x3)) * 8);
  }
  x = $high32(x, 1518500250);
  if (right >= 0) {
    *m = x;
    *shift = -right;
  } else {
    *m = (int32_t)((int64_t)x * ((int64_t)1 << -right));
    *shift = 0;
  }
}
)"},
      {"reciprocal", R"(/* 1 / v = *m * 2^(*shift - 31), v > 0. */
static void $reciprocal(int32_t v, int32_t *m, int32_t *shift) {
  const int32_t zeros = $clz((uint32_t)v);
  const int32_t x =
      (int32_t)(((uint32_t)v << zeros) - (uint32_t)2147483648u);
  *m = $sat32((int64_t)$one_over_half(x) * 2);
  *shift = zeros - 31;
}
)"},
      {"fixed_exp",
       R"(/* exp(x), x <= 0 of 16 bits with `integer` integer bits. */
static int32_t $fixed_exp(int32_t x, int32_t integer) {
  static const int16_t factors[7] = {25520, 19875, 12055, 4435, 600, 11, 0};
  const int32_t fraction = 15 - integer;
  int32_t quarter, last, a, a2, d, y, k;
  int32_t rest;
  if (x == 0) return 32767;
  if (integer > 5 && x < -(32 << fraction)) return 0;
  quarter = 1 << (fraction - 2);
  last = (x & (quarter - 1)) - quarter;
  a = (int16_t)($sat16((int64_t)last * (1 << integer)) + 4096);
  a2 = $high16(a, a);
  d = (int16_t)($half_away($high16(a2, a2), 2) + $high16(a2, a));
  d = (int32_t)$half_away((int16_t)($high16(d, 10923) + a2), 1);
  y = $sat16((int64_t)28918 + $high16(28918, (int16_t)(a + d)));
  rest = last - x;
  for (k = -2; k <= 4 && k < integer; ++k) {
    if ((rest >> (fraction + k) & 1) != 0) y = $high16(y, factors[k + 2]);
  }
  return y;
}
)"},
      {"one_over_half16", R"(/* 2 / (1 + x) of 16 bits. */
static int32_t $one_over_half16(int32_t x) {
  const int32_t sum = x + 32767;
  const int32_t half = (sum + (sum >= 0 ? 1 : -1)) / 2;
  int32_t y = (int16_t)(23130 + $high16(half, -15420));
  int32_t i;
  for (i = 0; i < 3; ++i) {
    const int32_t error = (int16_t)(8192 - $high16(half, y));
    y = (int16_t)(y + $sat16((int64_t)$high16(y, error) * 4));
  }
  return y;
}
)"},
      {"fixed_tanh", R"(static int32_t $fixed_tanh(int32_t x, int32_t integer) {
  int32_t e, size;
  if (x == 0) return 0;
  e = $fixed_exp(x < 0 ? x : (int16_t)-x, integer + 1);
  size = $sat16((int64_t)(int16_t)($one_over_half16(e) - 8192) * 4);
  return x < 0 ? (int16_t)-size : size;
}
)"},
      {"fixed_sigmoid",
       R"(static int32_t $fixed_sigmoid(int32_t x, int32_t integer) {
  int32_t above;
  if (x == 0) return 16384;
  above = $sat16((int64_t)$one_over_half16(
                     $fixed_exp(x > 0 ? (int16_t)-x : x, integer)) * 2);
  return x > 0 ? above : (int16_t)(32767 - above);
}
)"},
      {"squash_at",
       R"(/* A table of sigmoid(i / 24) at `place`, in pieces of 2^bits. */
static int64_t $squash_at(const uint16_t *values, int64_t place, int32_t bits,
                          int64_t beyond) {
  const int64_t piece = place >> bits;
  const int64_t rest = place & (((int64_t)1 << bits) - 1);
  if (piece >= 255) return beyond;
  return (int64_t)values[piece] * ((int64_t)1 << bits) +
         rest * ((int64_t)values[piece + 1] - values[piece]);
}
)"},
      {"squash_sigmoid",
       R"(static int32_t $squash_sigmoid(const uint16_t *values, int64_t place) {
  const int64_t y =
      $squash_at(values, place < 0 ? -place : place, 9, (int64_t)32767 * 1024);
  return (int16_t)((place >= 0 ? y + 512 : 33554432 - y + 511) >> 10);
}
)"},
      {"squash_tanh",
       R"(static int32_t $squash_tanh(const uint16_t *values, int64_t place) {
  const int64_t y =
      $squash_at(values, place < 0 ? -place : place, 8, (int64_t)65535 * 256);
  return (int16_t)((place >= 0 ? y - 8388608 + 128 : 8388608 - y + 127) >> 8);
}
)"},
  };
  return table;
}

}  // namespace edgekiln::compiler
