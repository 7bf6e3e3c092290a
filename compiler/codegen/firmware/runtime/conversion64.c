
/* Between float64 and others. */

#if defined(EK_SOFT_DOUBLE)

int32_t EK_NAME(__fixdfsi, __aeabi_d2iz)(uint64_t a) {
  const int32_t high = (int32_t)ek_high(a);
  const int32_t exponent = ek_exponent64(a);
  uint32_t magnitude = (uint32_t)high << 11 | ek_low(a) >> 21 | 0x80000000u;
  if (exponent < 1023) return 0;
  if (exponent >= 1054) {
    return high < 0 && !ek_is_nan64(a) ? INT32_MIN : INT32_MAX;
  }
  magnitude >>= 1054 - exponent;
  return high < 0 ? 0 - (int32_t)magnitude : (int32_t)magnitude;
}

uint32_t EK_NAME(__fixunsdfsi, __aeabi_d2uiz)(uint64_t a) {
  const int32_t exponent = ek_exponent64(a);
  if (exponent < 1023) return 0;
  if (ek_is_nan64(a)) return UINT32_MAX;
  if ((int32_t)ek_high(a) < 0) return 0;
  return exponent > 1054 ? UINT32_MAX
                         : (ek_high(a) << 11 | ek_low(a) >> 21 | 0x80000000u) >>
                               (1054 - exponent);
}

EK_INLINE uint64_t ek_widen32(uint32_t sign, uint32_t x) {
  int32_t bits = 0;
  if (x == 0) return 0;
  bits = ek_leading_zeros(x);
  x <<= bits;
  return ek_pair(sign + ((uint32_t)(1053 - bits) << 20) + (x >> 11), x << 21);
}
uint64_t EK_NAME(__floatsidf, __aeabi_i2d)(int32_t x) {
  return ek_widen32(x < 0 ? 0x80000000u : 0,
                    x < 0 ? 0 - (uint32_t)x : (uint32_t)x);
}
uint64_t EK_NAME(__floatunsidf, __aeabi_ui2d)(uint32_t x) {
  return ek_widen32(0, x);
}

uint64_t EK_NAME(__extendsfdf2, __aeabi_f2d)(ek_single x) {
  const uint32_t a = ek_bits(x), sign = a & 0x80000000u;
  uint32_t fraction = a << 9, exponent = a >> 23 & 255;
  if (exponent == 255) {
    return fraction != 0 ? EK_NAN64 : ek_pair(sign, 0) | EK_INF64;
  }
  if (exponent == 0) {
    int32_t bits = 0;
    if (fraction == 0) return ek_pair(sign, 0);
    bits = ek_leading_zeros(fraction);
    fraction = fraction << bits << 1;
    exponent = 0 - (uint32_t)bits;
  }
  return ek_pair(sign | ((exponent + 896) << 20) | fraction >> 12,
                 fraction << 20);
}

ek_single EK_NAME(__truncdfsf2, __aeabi_d2f)(uint64_t a) {
  const uint32_t high = ek_high(a), low = ek_low(a);
  const uint32_t sign = high & 0x80000000u;
  const int32_t exponent = ek_exponent64(a) - 896;
  const uint32_t fraction =
      (high << 10 & 0x3fffffff) | 0x40000000 | low >> 22 | (low << 10 != 0);
  if ((uint32_t)(exponent - 1) < 254) {
    return ek_value(ek_round32(sign, exponent, fraction));
  }
  if (ek_is_nan64(a)) return ek_value(EK_NAN32);
  return ek_value(ek_pack32(sign, exponent, fraction));
}

#endif /* EK_SOFT_DOUBLE */

/* Processors with float64 have no instructions for integers of 64 bits. */

int64_t EK_NAME(__fixdfdi, __aeabi_d2lz)(uint64_t a) {
  const int32_t exponent = ek_exponent64(a);
  uint64_t magnitude = a << 11 | EK_SIGN64;
  if (exponent < 1023) return 0;
  if (exponent >= 1086) {
    return (int32_t)ek_high(a) < 0 && !ek_is_nan64(a) ? INT64_MIN : INT64_MAX;
  }
  magnitude >>= 1086 - exponent;
  return (int32_t)ek_high(a) < 0 ? 0 - (int64_t)magnitude : (int64_t)magnitude;
}

uint64_t EK_NAME(__fixunsdfdi, __aeabi_d2ulz)(uint64_t a) {
  const int32_t exponent = ek_exponent64(a);
  if (exponent < 1023) return 0;
  if (ek_is_nan64(a)) return UINT64_MAX;
  if ((int32_t)ek_high(a) < 0) return 0;
  return exponent > 1086 ? UINT64_MAX
                         : (a << 11 | EK_SIGN64) >> (1086 - exponent);
}

EK_INLINE uint64_t ek_widen64(uint32_t sign, uint64_t x) {
  int32_t bits = 0;
  if (x == 0) return 0;
  bits = ek_leading_zeros64(x);
  x <<= bits;
  return ek_round64(sign, 1086 - bits, x >> 1 | (x & 1));
}
uint64_t EK_NAME(__floatdidf, __aeabi_l2d)(int64_t x) {
  return ek_widen64(x < 0 ? 0x80000000u : 0, ek_magnitude(x));
}
uint64_t EK_NAME(__floatundidf, __aeabi_ul2d)(uint64_t x) {
  return ek_widen64(0, x);
}

#endif /* EK_32_BITS */
