
/* float64. A fraction has its leading bit at bit 62 and ten bits below what is
   kept; lost ones are or'ed into the last. */

#define EK_SIGN64 ((uint64_t)1 << 63)
#define EK_LEAD64 ((uint64_t)1 << 62)
#define EK_NAN64 ((uint64_t)0x7ff80000 << 32)
#define EK_INF64 ((uint64_t)0x7ff00000 << 32)

/* Exponents from 1 to 2046, and fractions of subnormal numbers with 1. */
EK_INLINE uint64_t ek_round64(uint32_t sign, int32_t exponent,
                              uint64_t fraction) {
  return ek_pair(sign + ((uint32_t)(exponent - 1) << 20), 0) +
         ((fraction + (511 + (ek_low(fraction) >> 10 & 1))) >> 10);
}

EK_INLINE int ek_is_nan64(uint64_t x) { return x << 1 > EK_INF64 << 1; }
EK_INLINE int32_t ek_exponent64(uint64_t x) {
  return (int32_t)(ek_high(x) >> 20 & 2047);
}

#if defined(EK_SOFT_DOUBLE)

EK_INLINE uint64_t ek_shift64(uint64_t fraction, int32_t bits) {
  const uint32_t high = ek_high(fraction), low = ek_low(fraction);
  if (bits == 0) return fraction;
  if (bits < 32) {
    return ek_pair(high >> bits, low >> bits | high << (32 - bits) |
                                     (low << (32 - bits) != 0));
  }
  if (bits == 32) return high | (low != 0);
  if (bits > 63) return fraction != 0;
  return high >> (bits - 32) | ((high << (64 - bits) | low) != 0);
}

/* Of any exponent. The fraction is 0 or has its leading bit. */
static __attribute__((noinline)) uint64_t ek_pack64(uint32_t sign,
                                                    int32_t exponent,
                                                    uint64_t fraction) {
  if (fraction == 0) return ek_pair(sign, 0);
  if (exponent > 2046) return ek_pair(sign, 0) | EK_INF64;
  if (exponent < 1) {
    fraction = ek_shift64(fraction, 1 - exponent);
    exponent = 1;
  }
  return ek_round64(sign, exponent, fraction);
}

EK_INLINE int ek_is_zero64(uint64_t x) {
  return (ek_high(x) << 1 | ek_low(x)) == 0;
}

/* Shifts a subnormal number until it has a leading bit 52; returns by how
   much. */
EK_INLINE int32_t ek_normalize64(uint64_t* x) {
  const uint64_t fraction = *x << 12 >> 12;
  const int32_t bits = ek_leading_zeros64(fraction) - 11;
  *x = fraction << bits;
  return bits;
}

static __attribute__((noinline)) uint64_t ek_add64(uint64_t a, uint64_t b) {
  int32_t exponent = 0, distance = 0;
  uint32_t sign = 0;
  uint64_t x = 0, y = 0;
  if (a << 1 < b << 1) {
    x = a;
    a = b;
    b = x;
  }
  sign = ek_high(a) & 0x80000000u;
  exponent = ek_exponent64(a);
  distance = exponent - ek_exponent64(b);
  x = (a << 10 & (EK_LEAD64 - 1)) | EK_LEAD64;
  y = (b << 10 & (EK_LEAD64 - 1)) | EK_LEAD64;
  if (exponent == 2047) {
    const int opposite = distance == 0 && (int32_t)ek_high(a ^ b) < 0;
    return ek_is_nan64(a) || opposite ? EK_NAN64 : a;
  }
  if (distance == exponent) { /* b is subnormal, or 0. */
    if (ek_is_zero64(b)) return ek_is_zero64(a) ? a & b : a;
    y ^= EK_LEAD64;
    if (exponent == 0) {
      x ^= EK_LEAD64;
      exponent = 1;
    } else {
      --distance;
    }
  }
  y = ek_shift64(y, distance);
  if ((int32_t)ek_high(a ^ b) >= 0) {
    x += y;
    if ((int32_t)ek_high(x) < 0) {
      x = x >> 1 | (x & 1);
      if (++exponent == 2047) return ek_pair(sign, 0) | EK_INF64;
    }
    return ek_round64(sign, exponent, x);
  }
  x -= y;
  if (x == 0) return 0;
  if (ek_high(x) < 0x40000000) {
    int32_t bits = ek_high(x) >= 0x20000000 ? 1 : ek_leading_zeros64(x) - 1;
    if (bits >= exponent) bits = exponent - 1;
    x <<= bits;
    exponent -= bits;
  }
  return ek_round64(sign, exponent, x);
}

uint64_t EK_NAME(__adddf3, __aeabi_dadd)(uint64_t a, uint64_t b) {
  return ek_add64(a, b);
}
uint64_t EK_NAME(__subdf3, __aeabi_dsub)(uint64_t a, uint64_t b) {
  return ek_add64(a, b ^ EK_SIGN64);
}
#if defined(__arm__)
uint64_t __aeabi_drsub(uint64_t a, uint64_t b) {
  return ek_add64(b, a ^ EK_SIGN64);
}
#endif

/* The upper half of the product; what the lower has is or'ed into the last
   bit. */
EK_INLINE uint64_t ek_product64(uint64_t a, uint64_t b) {
  const uint64_t low = ek_product(ek_low(a), ek_low(b));
  const uint64_t one = ek_product(ek_high(a), ek_low(b));
  const uint64_t other = ek_product(ek_low(a), ek_high(b));
  const uint64_t high = ek_product(ek_high(a), ek_high(b));
  const uint64_t middle = (uint64_t)ek_high(low) + ek_low(one) + ek_low(other);
  return (high + ek_high(one) + ek_high(other) + ek_high(middle)) |
         ((ek_low(middle) | ek_low(low)) != 0);
}

uint64_t EK_NAME(__muldf3, __aeabi_dmul)(uint64_t a, uint64_t b) {
  const uint32_t sign = ek_high(a ^ b) & 0x80000000u;
  int32_t exponent = ek_exponent64(a), other = ek_exponent64(b);
  uint64_t fraction = 0;
  if ((uint32_t)(exponent - 1) >= 2046 || (uint32_t)(other - 1) >= 2046) {
    const int zero = ek_is_zero64(a) || ek_is_zero64(b);
    if (exponent == 2047 || other == 2047) {
      return zero || ek_is_nan64(a) || ek_is_nan64(b)
                 ? EK_NAN64
                 : ek_pair(sign, 0) | EK_INF64;
    }
    if (zero) return ek_pair(sign, 0);
    if (exponent == 0) exponent = 1 - ek_normalize64(&a);
    if (other == 0) other = 1 - ek_normalize64(&b);
  }
  fraction = ek_product64(a << 11 | EK_SIGN64,
                          (b << 10 & (EK_LEAD64 - 1)) | EK_LEAD64);
  exponent += other - 1022;
  if (ek_high(fraction) < 0x40000000) {
    fraction <<= 1;
    --exponent;
  }
  if ((uint32_t)(exponent - 1) < 2046) {
    return ek_round64(sign, exponent, fraction);
  }
  return ek_pack64(sign, exponent, fraction);
}

uint64_t EK_NAME(__divdf3, __aeabi_ddiv)(uint64_t a, uint64_t b) {
  const uint32_t sign = ek_high(a ^ b) & 0x80000000u;
  int32_t exponent = ek_exponent64(a), other = ek_exponent64(b), i = 0;
  uint64_t fraction = 1;
  uint32_t divisor = 0;
  if ((uint32_t)(exponent - 1) >= 2046 || (uint32_t)(other - 1) >= 2046) {
    const uint64_t infinite = ek_pair(sign, 0) | EK_INF64;
    if (ek_is_nan64(a) || ek_is_nan64(b)) return EK_NAN64;
    if (exponent == 2047) return other == 2047 ? EK_NAN64 : infinite;
    if (other == 2047) return ek_pair(sign, 0);
    if (ek_is_zero64(b)) return ek_is_zero64(a) ? EK_NAN64 : infinite;
    if (ek_is_zero64(a)) return ek_pair(sign, 0);
    if (exponent == 0) exponent = 1 - ek_normalize64(&a);
    if (other == 0) other = 1 - ek_normalize64(&b);
  }
  a = (a << 12 >> 12) | EK_LEAD64 >> 10;
  b = (b << 12 >> 12) | EK_LEAD64 >> 10;
  exponent += 1023 - other;
  if (a < b) {
    a <<= 1;
    --exponent;
  }
  /* Digits of eleven bits. Of the upper halves they are too small by one at
     most, if the divisor's is rounded up. */
  a -= b;
  divisor = ek_high(b) + 1;
  for (i = 0; i < 5; ++i) {
    uint32_t digit = 0;
    a <<= 11;
    digit = ek_high(a) / divisor;
    a -= ek_product(digit, ek_low(b)) + ek_pair(digit * ek_high(b), 0);
    if (a >= b) a -= b, ++digit;
    fraction = fraction << 11 | digit;
  }
  fraction = fraction << 7 | (a != 0);
  if ((uint32_t)(exponent - 1) < 2046) {
    return ek_round64(sign, exponent, fraction);
  }
  return ek_pack64(sign, exponent, fraction);
}

/* -1, 0 or 1; `unordered` if one is NaN. */
EK_INLINE int32_t ek_compare64(uint64_t a, uint64_t b, int32_t unordered) {
  const uint32_t x = ek_high(a), y = ek_high(b), v = ek_low(a), w = ek_low(b);
  uint32_t less = 0;
  if ((x << 1 | (v != 0)) > 0xffe00000u || (y << 1 | (w != 0)) > 0xffe00000u) {
    return unordered;
  }
  if (((x | y) << 1 | v | w) == 0) return 0;
  if (x != y) {
    less = ((int32_t)x < (int32_t)y) ^ ((x & y) >> 31);
  } else {
    if (v == w) return 0;
    less = (v < w) ^ (x >> 31);
  }
  return 1 - (int32_t)(less << 1);
}

EK_INLINE int32_t ek_differ64(uint64_t a, uint64_t b) {
  const uint32_t x = ek_high(a), y = ek_high(b), v = ek_low(a), w = ek_low(b);
  if (x != y || v != w) return ((x | y) << 1 | v | w) != 0;
  return (x << 1 | (v != 0)) > 0xffe00000u;
}

#if defined(__arm__) && !defined(EK_RUNTIME_TEST)
int32_t __aeabi_dcmpeq(uint64_t a, uint64_t b) { return !ek_differ64(a, b); }
int32_t __aeabi_dcmplt(uint64_t a, uint64_t b) {
  return ek_compare64(a, b, 1) < 0;
}
int32_t __aeabi_dcmple(uint64_t a, uint64_t b) {
  return ek_compare64(a, b, 1) <= 0;
}
int32_t __aeabi_dcmpgt(uint64_t a, uint64_t b) {
  return ek_compare64(a, b, -1) > 0;
}
int32_t __aeabi_dcmpge(uint64_t a, uint64_t b) {
  return ek_compare64(a, b, -1) >= 0;
}
#else
int32_t EK_NAME(__eqdf2, )(uint64_t a, uint64_t b) { return ek_differ64(a, b); }
int32_t EK_NAME(__nedf2, )(uint64_t a, uint64_t b) { return ek_differ64(a, b); }
int32_t EK_NAME(__ltdf2, )(uint64_t a, uint64_t b) {
  return ek_compare64(a, b, 1);
}
int32_t EK_NAME(__ledf2, )(uint64_t a, uint64_t b) {
  return ek_compare64(a, b, 1);
}
int32_t EK_NAME(__gtdf2, )(uint64_t a, uint64_t b) {
  return ek_compare64(a, b, -1);
}
int32_t EK_NAME(__gedf2, )(uint64_t a, uint64_t b) {
  return ek_compare64(a, b, -1);
}
#endif
int32_t EK_NAME(__unorddf2, __aeabi_dcmpun)(uint64_t a, uint64_t b) {
  return ek_is_nan64(a) || ek_is_nan64(b);
}

#endif /* EK_SOFT_DOUBLE */
