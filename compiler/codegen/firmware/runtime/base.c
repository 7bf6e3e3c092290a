/* Made by edgekiln: the functions that compilers call for what a processor has
   no instructions for, so that no library of a compiler is linked. Link with
   --gc-sections to keep only those in use.

   Floats are bits of IEEE 754, rounded to nearest even. A NaN result is always
   the same positive quiet one. Conversions to integers saturate; NaN gives the
   greatest. Loops must not be compiled into calls of memcpy() and the like:
   -ffreestanding with clang, -fno-tree-loop-distribute-patterns with gcc. */

#include <stddef.h>
#include <stdint.h>

/* Compilers take some of these for too large. */
#define EK_INLINE static inline __attribute__((always_inline))

/* Names of the GNU library, and of Arm's EABI where it has others. */
#if defined(EK_RUNTIME_TEST)
#define EK_NAME(gnu, arm) ek_test##gnu
#elif defined(__arm__)
#define EK_NAME(gnu, arm) arm
#else
#define EK_NAME(gnu, arm) gnu
#endif

#if defined(EK_RUNTIME_TEST)
#define EK_SOFT_SINGLE 1
#define EK_SOFT_DOUBLE 1
#define EK_32_BITS 1
#elif defined(__riscv) || defined(__arm__)
#define EK_32_BITS 1
#if !defined(__riscv_flen) && !defined(__ARM_FP)
#define EK_SOFT_SINGLE 1
#endif
#if !(defined(__riscv_flen) && __riscv_flen >= 64) && \
    !(defined(__ARM_FP) && (__ARM_FP & 8))
#define EK_SOFT_DOUBLE 1
#endif
#endif

#ifdef EK_32_BITS

/* How float32 is handed over: Arm's EABI has it in integer registers always. */
#if defined(__riscv_flen) && !defined(EK_RUNTIME_TEST)
typedef float ek_single;
EK_INLINE uint32_t ek_bits(float value) {
  const union {
    float value;
    uint32_t bits;
  } both = {value};
  return both.bits;
}
EK_INLINE float ek_value(uint32_t bits) {
  const union {
    uint32_t bits;
    float value;
  } both = {bits};
  return both.value;
}
#else
typedef uint32_t ek_single;
EK_INLINE uint32_t ek_bits(uint32_t bits) { return bits; }
EK_INLINE uint32_t ek_value(uint32_t bits) { return bits; }
#endif

EK_INLINE uint32_t ek_high(uint64_t x) { return (uint32_t)(x >> 32); }
EK_INLINE uint32_t ek_low(uint64_t x) { return (uint32_t)x; }
EK_INLINE uint64_t ek_pair(uint32_t high, uint32_t low) {
  return (uint64_t)high << 32 | low;
}

/* Zero bits above the highest that is set; x is not 0. */
EK_INLINE int32_t ek_leading_zeros(uint32_t x) {
#if defined(__ARM_FEATURE_CLZ)
  return __builtin_clz(x);
#else
  int32_t zeros = 0;
  if (x >> 16 == 0) zeros += 16, x <<= 16;
  if (x >> 24 == 0) zeros += 8, x <<= 8;
  if (x >> 28 == 0) zeros += 4, x <<= 4;
  if (x >> 30 == 0) zeros += 2, x <<= 2;
  return zeros + (int32_t)(~x >> 31);
#endif
}
EK_INLINE int32_t ek_leading_zeros64(uint64_t x) {
  const uint32_t high = ek_high(x);
  return high != 0 ? ek_leading_zeros(high) : 32 + ek_leading_zeros(ek_low(x));
}

/* a * b. Armv6-M multiplies 32 bits into 32. */
EK_INLINE uint64_t ek_product(uint32_t a, uint32_t b) {
#if defined(__arm__) && !defined(__ARM_FEATURE_IDIV)
  const uint32_t ah = a >> 16, al = a & 0xffff;
  const uint32_t bh = b >> 16, bl = b & 0xffff;
  const uint32_t low = al * bl;
  const uint32_t one = ah * bl + (low >> 16);
  const uint32_t other = al * bh + (one & 0xffff);
  return ek_pair(ah * bh + (one >> 16) + (other >> 16),
                 other << 16 | (low & 0xffff));
#else
  return (uint64_t)a * b;
#endif
}
