
/* Integers. */

uint64_t EK_NAME(__muldi3, __aeabi_lmul)(uint64_t a, uint64_t b) {
  const uint64_t low = ek_product(ek_low(a), ek_low(b));
  return ek_pair(ek_high(low) + ek_low(a) * ek_high(b) + ek_high(a) * ek_low(b),
                 ek_low(low));
}

uint64_t EK_NAME(__ashldi3, __aeabi_llsl)(uint64_t x, int32_t bits) {
  const uint32_t high = ek_high(x), low = ek_low(x);
  if (bits >= 32) return ek_pair(low << (bits - 32), 0);
  if (bits == 0) return x;
  return ek_pair(high << bits | low >> (32 - bits), low << bits);
}

uint64_t EK_NAME(__lshrdi3, __aeabi_llsr)(uint64_t x, int32_t bits) {
  const uint32_t high = ek_high(x), low = ek_low(x);
  if (bits >= 32) return high >> (bits - 32);
  if (bits == 0) return x;
  return ek_pair(high >> bits, low >> bits | high << (32 - bits));
}

uint64_t EK_NAME(__ashrdi3, __aeabi_lasr)(uint64_t x, int32_t bits) {
  const int32_t high = (int32_t)ek_high(x);
  const uint32_t low = ek_low(x);
  if (bits >= 32)
    return ek_pair((uint32_t)(high >> 31), (uint32_t)(high >> (bits - 32)));
  if (bits == 0) return x;
  return ek_pair((uint32_t)(high >> bits),
                 low >> bits | (uint32_t)high << (32 - bits));
}

int32_t EK_NAME(__clzsi2, __clzsi2)(uint32_t x) { return ek_leading_zeros(x); }
int32_t EK_NAME(__clzdi2, __clzdi2)(uint64_t x) {
  return ek_leading_zeros64(x);
}
int32_t EK_NAME(__ctzsi2, __ctzsi2)(uint32_t x) {
  return 31 - ek_leading_zeros(x & (0 - x));
}
int32_t EK_NAME(__ctzdi2, __ctzdi2)(uint64_t x) {
  const uint32_t low = ek_low(x);
  const uint32_t word = low != 0 ? low : ek_high(x);
  return (low != 0 ? 31 : 63) - ek_leading_zeros(word & (0 - word));
}

/* Quotient and rest. */
#if defined(__arm__) && !defined(__ARM_FEATURE_IDIV)
static __attribute__((noinline)) uint64_t ek_divide32(uint32_t n, uint32_t d) {
  uint32_t quotient = 0;
  int32_t bits = 0;
  if (d == 0) return ek_pair(n, 0xffffffff);
  if (d > n) return ek_pair(n, 0);
  bits = ek_leading_zeros(d) - ek_leading_zeros(n);
  d <<= bits;
  for (; bits >= 0; --bits) {
    quotient <<= 1;
    if (n >= d) n -= d, ++quotient;
    d >>= 1;
  }
  return ek_pair(n, quotient);
}

uint32_t __aeabi_uidiv(uint32_t n, uint32_t d) {
  return ek_low(ek_divide32(n, d));
}
uint64_t __aeabi_uidivmod(uint32_t n, uint32_t d) { return ek_divide32(n, d); }
uint64_t __aeabi_idivmod(int32_t n, int32_t d) {
  const uint64_t both = ek_divide32(n < 0 ? 0 - (uint32_t)n : (uint32_t)n,
                                    d < 0 ? 0 - (uint32_t)d : (uint32_t)d);
  const uint32_t quotient = ek_low(both), rest = ek_high(both);
  return ek_pair(n < 0 ? 0 - rest : rest,
                 (n ^ d) < 0 ? 0 - quotient : quotient);
}
int32_t __aeabi_idiv(int32_t n, int32_t d) {
  return (int32_t)ek_low(__aeabi_idivmod(n, d));
}
#else
EK_INLINE uint64_t ek_divide32(uint32_t n, uint32_t d) {
  const uint32_t quotient = n / d;
  return ek_pair(n - quotient * d, quotient);
}
#endif

/* high:low / d, where high < d and d has its leading bit: Knuth's algorithm D
   for two digits of 16 bits. */
EK_INLINE uint32_t ek_divide_narrow(uint32_t high, uint32_t low, uint32_t d,
                                    uint32_t* rest) {
  const uint32_t top = d >> 16, bottom = d & 0xffff;
  const uint64_t first = ek_divide32(high, top);
  uint32_t one = ek_low(first), other = 0;
  uint32_t left = ek_high(first) << 16 | low >> 16;
  uint32_t back = one * bottom;
  uint64_t second = 0;
  /* A digit is too large by two at most. */
  if (left < back) {
    --one;
    left += d;
    if (left >= d && left < back) --one, left += d;
  }
  second = ek_divide32(left - back, top);
  other = ek_low(second);
  left = ek_high(second) << 16 | (low & 0xffff);
  back = other * bottom;
  if (left < back) {
    --other;
    left += d;
    if (left >= d && left < back) --other, left += d;
  }
  *rest = left - back;
  return one << 16 | other;
}

/* By 0, whatever comes is as good. */
EK_INLINE uint64_t ek_divide64(uint64_t n, uint64_t d, uint64_t* rest) {
  const uint32_t high = ek_high(d), low = ek_low(d);
  uint32_t top = ek_high(n), middle = ek_low(n);
  uint32_t quotient = 0, left = 0, upper = 0;
  int32_t bits = 0;
  if (high == 0) {
    uint64_t both = 0;
    if (top >= low) {
      both = ek_divide32(top, low);
      quotient = ek_low(both);
      top = ek_high(both);
    }
    if (top == 0 || low == 0) {
      both = ek_divide32(middle, low);
      *rest = ek_high(both);
      return ek_pair(quotient, ek_low(both));
    }
    bits = ek_leading_zeros(low);
    if (bits != 0) top = top << bits | middle >> (32 - bits);
    upper = quotient;
    quotient = ek_divide_narrow(top, middle << bits, low << bits, &left);
    *rest = left >> bits;
    return ek_pair(upper, quotient);
  }
  if (n < d) {
    *rest = n;
    return 0;
  }
  bits = ek_leading_zeros(high);
  if (bits == 0) {
    *rest = n - d;
    return 1;
  }
  /* By the upper half; the lower can take one off. */
  upper = high << bits | low >> (32 - bits);
  {
    const uint32_t lower = low << bits, last = middle << bits;
    uint64_t back = 0, both = 0;
    quotient = ek_divide_narrow(
        top >> (32 - bits), top << bits | middle >> (32 - bits), upper, &left);
    back = ek_product(quotient, lower);
    both = ek_pair(left, last);
    if (back > both) {
      --quotient;
      both += ek_pair(upper, lower);
    }
    *rest = (both - back) >> bits;
  }
  return quotient;
}

EK_INLINE uint64_t ek_magnitude(int64_t x) {
  return x < 0 ? 0 - (uint64_t)x : (uint64_t)x;
}

#if defined(__arm__) && !defined(EK_RUNTIME_TEST)
/* Both results in four registers: a vector of 128 bits is handed back so. */
typedef uint64_t ek_two __attribute__((vector_size(16)));
__attribute__((pcs("aapcs"))) ek_two __aeabi_uldivmod(uint64_t n, uint64_t d) {
  uint64_t rest = 0;
  const uint64_t quotient = ek_divide64(n, d, &rest);
  return (ek_two){quotient, rest};
}
__attribute__((pcs("aapcs"))) ek_two __aeabi_ldivmod(int64_t n, int64_t d) {
  uint64_t rest = 0;
  const uint64_t quotient =
      ek_divide64(ek_magnitude(n), ek_magnitude(d), &rest);
  return (ek_two){(n ^ d) < 0 ? 0 - quotient : quotient,
                  n < 0 ? 0 - rest : rest};
}
int32_t __aeabi_lcmp(int64_t a, int64_t b) {
  const int32_t x = (int32_t)ek_high((uint64_t)a);
  const int32_t y = (int32_t)ek_high((uint64_t)b);
  const uint32_t v = ek_low((uint64_t)a), w = ek_low((uint64_t)b);
  return x != y ? (x > y) - (x < y) : (v > w) - (v < w);
}
int32_t __aeabi_ulcmp(uint64_t a, uint64_t b) {
  const uint32_t x = ek_high(a), y = ek_high(b), v = ek_low(a), w = ek_low(b);
  return x != y ? (x > y) - (x < y) : (v > w) - (v < w);
}
#else
uint64_t EK_NAME(__udivdi3, )(uint64_t n, uint64_t d) {
  uint64_t rest = 0;
  return ek_divide64(n, d, &rest);
}
uint64_t EK_NAME(__umoddi3, )(uint64_t n, uint64_t d) {
  uint64_t rest = 0;
  ek_divide64(n, d, &rest);
  return rest;
}
int64_t EK_NAME(__divdi3, )(int64_t n, int64_t d) {
  uint64_t rest = 0;
  const uint64_t quotient =
      ek_divide64(ek_magnitude(n), ek_magnitude(d), &rest);
  return (int64_t)((n ^ d) < 0 ? 0 - quotient : quotient);
}
int64_t EK_NAME(__moddi3, )(int64_t n, int64_t d) {
  uint64_t rest = 0;
  ek_divide64(ek_magnitude(n), ek_magnitude(d), &rest);
  return (int64_t)(n < 0 ? 0 - rest : rest);
}
#endif
