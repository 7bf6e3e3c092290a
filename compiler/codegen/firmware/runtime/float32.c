
/* float32. A fraction has its leading bit at bit 30 and seven bits below what
   is kept; lost ones are or'ed into the last. */

#define EK_NAN32 0x7fc00000u
#define EK_INF32 0x7f800000u

/* Exponents from 1 to 254, and fractions of subnormal numbers with 1. */
EK_INLINE uint32_t ek_round32(uint32_t sign, int32_t exponent,
                              uint32_t fraction) {
  return sign + ((uint32_t)(exponent - 1) << 23) +
         ((fraction + 63 + (fraction >> 7 & 1)) >> 7);
}

EK_INLINE uint32_t ek_shift32(uint32_t fraction, int32_t bits) {
  if (bits > 31) return fraction != 0;
  return fraction >> bits | ((fraction & ((1u << bits) - 1)) != 0);
}

#if defined(EK_SOFT_SINGLE) || defined(EK_SOFT_DOUBLE)
/* Of any exponent. The fraction is 0 or has its leading bit. */
static __attribute__((noinline)) uint32_t ek_pack32(uint32_t sign,
                                                    int32_t exponent,
                                                    uint32_t fraction) {
  if (fraction == 0) return sign;
  if (exponent > 254) return sign | EK_INF32;
  if (exponent < 1) {
    fraction = ek_shift32(fraction, 1 - exponent);
    exponent = 1;
  }
  return ek_round32(sign, exponent, fraction);
}
#endif

#if defined(EK_SOFT_SINGLE)

EK_INLINE int ek_is_nan32(uint32_t x) { return x << 1 > EK_INF32 << 1; }
EK_INLINE int32_t ek_exponent32(uint32_t x) { return (int32_t)(x >> 23 & 255); }

/* Shifts a subnormal number until it has a leading bit 23; returns by how much.
   Others have the bit. */
EK_INLINE int32_t ek_normalize32(uint32_t* x) {
  const int32_t bits = ek_leading_zeros(*x << 9 >> 9) - 8;
  *x = *x << 9 >> 9 << bits;
  return bits;
}

EK_INLINE uint32_t ek_add32(uint32_t a, uint32_t b) {
  int32_t exponent = 0, distance = 0;
  uint32_t sign = 0, x = 0, y = 0;
  if (a << 1 < b << 1) {
    sign = a;
    a = b;
    b = sign;
  }
  sign = a & 0x80000000u;
  exponent = ek_exponent32(a);
  distance = exponent - ek_exponent32(b);
  x = (a << 7 & 0x3fffffff) | 0x40000000;
  y = (b << 7 & 0x3fffffff) | 0x40000000;
  if (exponent == 255) {
    const int opposite = distance == 0 && ((a ^ b) >> 31) != 0;
    return ek_is_nan32(a) || opposite ? EK_NAN32 : a;
  }
  if (distance == exponent) { /* b is subnormal, or 0. */
    if (b << 1 == 0) return a << 1 == 0 ? a & b : a;
    y ^= 0x40000000;
    if (exponent == 0) {
      x ^= 0x40000000;
      exponent = 1;
    } else {
      --distance;
    }
  }
  y = distance < 8 ? y >> distance : ek_shift32(y, distance);
  if ((int32_t)(a ^ b) >= 0) {
    x += y;
    if ((int32_t)x < 0) {
      x = x >> 1 | (x & 1);
      if (++exponent == 255) return sign | EK_INF32;
    }
    return ek_round32(sign, exponent, x);
  }
  x -= y;
  if (x == 0) return 0;
  if (x < 0x40000000) {
    int32_t bits = x >= 0x20000000 ? 1 : ek_leading_zeros(x) - 1;
    if (bits >= exponent) bits = exponent - 1;
    x <<= bits;
    exponent -= bits;
  }
  return ek_round32(sign, exponent, x);
}

uint32_t EK_NAME(__addsf3, __aeabi_fadd)(uint32_t a, uint32_t b) {
  return ek_add32(a, b);
}
uint32_t EK_NAME(__subsf3, __aeabi_fsub)(uint32_t a, uint32_t b) {
  return ek_add32(a, b ^ 0x80000000u);
}
#if defined(__arm__)
uint32_t __aeabi_frsub(uint32_t a, uint32_t b) {
  return ek_add32(b, a ^ 0x80000000u);
}
#endif

uint32_t EK_NAME(__mulsf3, __aeabi_fmul)(uint32_t a, uint32_t b) {
  const uint32_t sign = (a ^ b) & 0x80000000u;
  int32_t exponent = ek_exponent32(a), other = ek_exponent32(b);
  uint64_t product = 0;
  uint32_t fraction = 0;
  if ((uint32_t)(exponent - 1) >= 254 || (uint32_t)(other - 1) >= 254) {
    if (exponent == 255 || other == 255) {
      const int zero = a << 1 == 0 || b << 1 == 0;
      return zero || ek_is_nan32(a) || ek_is_nan32(b) ? EK_NAN32
                                                      : sign | EK_INF32;
    }
    if (a << 1 == 0 || b << 1 == 0) return sign;
    if (exponent == 0) exponent = 1 - ek_normalize32(&a);
    if (other == 0) other = 1 - ek_normalize32(&b);
  }
  product =
      ek_product(a << 8 | 0x80000000u, (b << 7 & 0x3fffffff) | 0x40000000);
  fraction = ek_high(product) | (ek_low(product) != 0);
  exponent += other - 126;
  if (fraction < 0x40000000) {
    fraction <<= 1;
    --exponent;
  }
  if ((uint32_t)(exponent - 1) < 254) {
    return ek_round32(sign, exponent, fraction);
  }
  return ek_pack32(sign, exponent, fraction);
}

/* a / b of 24 bits each, a >= b: bit 24 and those below. Returns the rest. */
EK_INLINE uint32_t ek_digits32(uint32_t a, uint32_t b, uint32_t* quotient) {
  uint32_t rest = a - b, digits = 1;
  int32_t i = 0;
#if defined(__arm__) && !defined(__ARM_FEATURE_IDIV)
  for (i = 0; i < 24; ++i) {
    rest <<= 1;
    digits <<= 1;
    if (rest >= b) rest -= b, ++digits;
  }
#else
  for (i = 0; i < 3; ++i) {
    const uint32_t digit = (rest << 8) / b;
    rest = (rest << 8) - digit * b;
    digits = digits << 8 | digit;
  }
#endif
  *quotient = digits;
  return rest;
}

uint32_t EK_NAME(__divsf3, __aeabi_fdiv)(uint32_t a, uint32_t b) {
  const uint32_t sign = (a ^ b) & 0x80000000u;
  int32_t exponent = ek_exponent32(a), other = ek_exponent32(b);
  uint32_t rest = 0, fraction = 0;
  if ((uint32_t)(exponent - 1) >= 254 || (uint32_t)(other - 1) >= 254) {
    if (ek_is_nan32(a) || ek_is_nan32(b)) return EK_NAN32;
    if (exponent == 255) return other == 255 ? EK_NAN32 : sign | EK_INF32;
    if (other == 255) return sign;
    if (b << 1 == 0) return a << 1 == 0 ? EK_NAN32 : sign | EK_INF32;
    if (a << 1 == 0) return sign;
    if (exponent == 0) exponent = 1 - ek_normalize32(&a);
    if (other == 0) other = 1 - ek_normalize32(&b);
  }
  a = (a & 0x7fffff) | 0x800000;
  b = (b & 0x7fffff) | 0x800000;
  exponent += 127 - other;
  if (a < b) {
    a <<= 1;
    --exponent;
  }
  rest = ek_digits32(a, b, &fraction);
  fraction = fraction << 6 | (rest != 0);
  if ((uint32_t)(exponent - 1) < 254) {
    return ek_round32(sign, exponent, fraction);
  }
  return ek_pack32(sign, exponent, fraction);
}

/* -1, 0 or 1; `unordered` if one is NaN. */
EK_INLINE int32_t ek_compare32(uint32_t a, uint32_t b, int32_t unordered) {
  const int32_t x = (int32_t)a, y = (int32_t)b;
  if (ek_is_nan32(a) || ek_is_nan32(b)) return unordered;
  if ((a | b) << 1 == 0) return 0;
  return (x & y) < 0 ? (y > x) - (y < x) : (x > y) - (x < y);
}

#if defined(__arm__) && !defined(EK_RUNTIME_TEST)
int32_t __aeabi_fcmpeq(uint32_t a, uint32_t b) {
  return ek_compare32(a, b, 1) == 0;
}
int32_t __aeabi_fcmplt(uint32_t a, uint32_t b) {
  return ek_compare32(a, b, 1) < 0;
}
int32_t __aeabi_fcmple(uint32_t a, uint32_t b) {
  return ek_compare32(a, b, 1) <= 0;
}
int32_t __aeabi_fcmpgt(uint32_t a, uint32_t b) {
  return ek_compare32(a, b, -1) > 0;
}
int32_t __aeabi_fcmpge(uint32_t a, uint32_t b) {
  return ek_compare32(a, b, -1) >= 0;
}
#else
int32_t EK_NAME(__eqsf2, )(uint32_t a, uint32_t b) {
  return ek_compare32(a, b, 1);
}
int32_t EK_NAME(__nesf2, )(uint32_t a, uint32_t b) {
  return ek_compare32(a, b, 1);
}
int32_t EK_NAME(__ltsf2, )(uint32_t a, uint32_t b) {
  return ek_compare32(a, b, 1);
}
int32_t EK_NAME(__lesf2, )(uint32_t a, uint32_t b) {
  return ek_compare32(a, b, 1);
}
int32_t EK_NAME(__gtsf2, )(uint32_t a, uint32_t b) {
  return ek_compare32(a, b, -1);
}
int32_t EK_NAME(__gesf2, )(uint32_t a, uint32_t b) {
  return ek_compare32(a, b, -1);
}
#endif
int32_t EK_NAME(__unordsf2, __aeabi_fcmpun)(uint32_t a, uint32_t b) {
  return ek_is_nan32(a) || ek_is_nan32(b);
}

int32_t EK_NAME(__fixsfsi, __aeabi_f2iz)(uint32_t a) {
  const int32_t exponent = ek_exponent32(a);
  const uint32_t magnitude = a << 8 | 0x80000000u;
  if (exponent < 127) return 0;
  if (exponent >= 158) {
    return (int32_t)a < 0 && !ek_is_nan32(a) ? INT32_MIN : INT32_MAX;
  }
  return (int32_t)a < 0 ? 0 - (int32_t)(magnitude >> (158 - exponent))
                        : (int32_t)(magnitude >> (158 - exponent));
}

uint32_t EK_NAME(__fixunssfsi, __aeabi_f2uiz)(uint32_t a) {
  const int32_t exponent = ek_exponent32(a);
  if (exponent < 127) return 0;
  if (ek_is_nan32(a)) return UINT32_MAX;
  if ((int32_t)a < 0) return 0;
  return exponent > 158 ? UINT32_MAX
                        : (a << 8 | 0x80000000u) >> (158 - exponent);
}

EK_INLINE uint32_t ek_from_unsigned32(uint32_t sign, uint32_t x) {
  int32_t bits = 0;
  if (x == 0) return 0;
  bits = ek_leading_zeros(x);
  x <<= bits;
  return ek_round32(sign, 158 - bits, x >> 1 | (x & 1));
}
uint32_t EK_NAME(__floatsisf, __aeabi_i2f)(int32_t x) {
  return ek_from_unsigned32(x < 0 ? 0x80000000u : 0,
                            x < 0 ? 0 - (uint32_t)x : (uint32_t)x);
}
uint32_t EK_NAME(__floatunsisf, __aeabi_ui2f)(uint32_t x) {
  return ek_from_unsigned32(0, x);
}

#endif /* EK_SOFT_SINGLE */

/* Integers of 64 bits. Processors with float32 have no instructions for them
   either. */

EK_INLINE uint64_t ek_fix32(uint32_t a) {
  const int32_t exponent = (int32_t)(a >> 23 & 255);
  const uint32_t magnitude = a << 8 | 0x80000000u;
  if (exponent < 127) return 0;
  return exponent <= 158 ? magnitude >> (158 - exponent)
                         : (uint64_t)magnitude << (exponent - 158);
}
int64_t EK_NAME(__fixsfdi, __aeabi_f2lz)(ek_single x) {
  const uint32_t a = ek_bits(x);
  if ((a >> 23 & 255) >= 190) {
    return a > 0x80000000u && a <= 0xff800000u ? INT64_MIN : INT64_MAX;
  }
  return (int32_t)a < 0 ? 0 - (int64_t)ek_fix32(a) : (int64_t)ek_fix32(a);
}
uint64_t EK_NAME(__fixunssfdi, __aeabi_f2ulz)(ek_single x) {
  const uint32_t a = ek_bits(x);
  if (a << 1 > EK_INF32 << 1) return UINT64_MAX;
  if ((int32_t)a < 0) return 0;
  return a >> 23 > 190 ? UINT64_MAX : ek_fix32(a);
}

EK_INLINE ek_single ek_from_unsigned64(uint32_t sign, uint64_t x) {
  int32_t bits = 0;
  if (x == 0) return ek_value(0);
  bits = ek_leading_zeros64(x);
  x <<= bits;
  return ek_value(ek_round32(
      sign, 190 - bits, ek_high(x) >> 1 | (ek_high(x) & 1) | (ek_low(x) != 0)));
}
ek_single EK_NAME(__floatdisf, __aeabi_l2f)(int64_t x) {
  return ek_from_unsigned64(x < 0 ? 0x80000000u : 0, ek_magnitude(x));
}
ek_single EK_NAME(__floatundisf, __aeabi_ul2f)(uint64_t x) {
  return ek_from_unsigned64(0, x);
}
