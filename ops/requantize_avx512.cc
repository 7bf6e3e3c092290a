// Compiled with -mavx512bw (ops/CMakeLists.txt); empty on other machines.
#if defined(__AVX512BW__)

#include <immintrin.h>

#include "ops/requantize_rows.h"

namespace edgekiln::ops {
namespace {

// GCC 12 takes what the forms without a mask leave undefined for a mistake of
// ours.
constexpr __mmask8 kAll = 0xff;

__m256i Load(const int32_t* from) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
}

template <bool kHalfEven>
void Requantize(const RequantizeColumns& p, int64_t rows, int64_t columns,
                const int32_t* sums, uint8_t* out, int64_t out_stride) {
  const __m512i one = _mm512_set1_epi64(1);
  const __m256i low = _mm256_set1_epi32(p.low);
  const __m256i high = _mm256_set1_epi32(p.high);
  const __m256i zero_point = _mm256_set1_epi32(p.zero_point);
  for (int64_t r = 0; r < rows; ++r) {
    const int32_t* row = sums + r * columns;
    uint8_t* to = out + r * out_stride;
    int64_t c = 0;
    for (; c + 8 <= columns; c += 8) {
      const __m256i sum = _mm256_add_epi32(Load(row + c), Load(p.bias + c));
      const __m512i shift = _mm512_loadu_si512(p.shift + c);
      __m512i product =
          _mm512_maskz_mul_epi32(kAll, _mm512_maskz_cvtepi32_epi64(kAll, sum),
                                 _mm512_loadu_si512(p.multiplier + c));
      if constexpr (kHalfEven) {
        const __m512i odd = _mm512_and_si512(
            _mm512_maskz_srav_epi64(kAll, product, shift), one);
        product = _mm512_add_epi64(product, _mm512_sub_epi64(odd, one));
      }
      const __m512i shifted = _mm512_maskz_srav_epi64(
          kAll, _mm512_add_epi64(product, _mm512_loadu_si512(p.round + c)),
          shift);
      __m256i value = _mm512_maskz_cvtepi64_epi32(kAll, shifted);
      value = _mm256_min_epi32(_mm256_max_epi32(value, low), high);
      const __m128i eight =
          _mm256_maskz_cvtepi32_epi8(kAll, _mm256_add_epi32(value, zero_point));
      __builtin_memcpy(to + c, &eight, 8);
    }
    for (; c < columns; ++c) to[c] = RequantizeOne(p, c, row[c]);
  }
}

}  // namespace

void RequantizeAvx512(const RequantizeColumns& p, int64_t rows, int64_t columns,
                      const int32_t* sums, uint8_t* out, int64_t out_stride) {
  (p.half_even ? Requantize<true> : Requantize<false>)(p, rows, columns, sums,
                                                       out, out_stride);
}

}  // namespace edgekiln::ops

#endif  // __AVX512BW__
