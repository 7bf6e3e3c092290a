// Compiled with -mavx2 (ops/CMakeLists.txt); empty on other machines.
#if defined(__AVX2__)

#include <immintrin.h>

#include "ops/requantize_rows.h"

namespace edgekiln::ops {
namespace {

__m256i Load(const int64_t* from) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
}

__m128i Load(const int32_t* from) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
}

// There is no arithmetic shift of 64 bits: 2^62 makes products positive and is
// taken off again after a logical one.
__m256i ShiftedRight(__m256i product, __m256i shift) {
  const __m256i lift = _mm256_set1_epi64x(int64_t{1} << 62);
  return _mm256_sub_epi64(
      _mm256_srlv_epi64(_mm256_add_epi64(product, lift), shift),
      _mm256_srlv_epi64(lift, shift));
}

template <bool kHalfEven>
void Requantize(const RequantizeColumns& p, int64_t rows, int64_t columns,
                const int32_t* sums, uint8_t* out, int64_t out_stride) {
  const __m256i one = _mm256_set1_epi64x(1);
  const __m256i even = _mm256_setr_epi32(0, 2, 4, 6, 0, 2, 4, 6);
  const __m128i bytes = _mm_setr_epi8(0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1,
                                      -1, -1, -1, -1, -1);
  const __m128i low = _mm_set1_epi32(p.low);
  const __m128i high = _mm_set1_epi32(p.high);
  const __m128i zero_point = _mm_set1_epi32(p.zero_point);
  for (int64_t r = 0; r < rows; ++r) {
    const int32_t* row = sums + r * columns;
    uint8_t* to = out + r * out_stride;
    int64_t c = 0;
    for (; c + 4 <= columns; c += 4) {
      const __m128i sum = _mm_add_epi32(Load(row + c), Load(p.bias + c));
      const __m256i shift = Load(p.shift + c);
      __m256i product =
          _mm256_mul_epi32(_mm256_cvtepi32_epi64(sum), Load(p.multiplier + c));
      if constexpr (kHalfEven) {
        const __m256i odd = _mm256_and_si256(ShiftedRight(product, shift), one);
        product = _mm256_add_epi64(product, _mm256_sub_epi64(odd, one));
      }
      const __m256i shifted =
          ShiftedRight(_mm256_add_epi64(product, Load(p.round + c)), shift);
      __m128i value =
          _mm256_castsi256_si128(_mm256_permutevar8x32_epi32(shifted, even));
      value = _mm_min_epi32(_mm_max_epi32(value, low), high);
      value = _mm_shuffle_epi8(_mm_add_epi32(value, zero_point), bytes);
      const int32_t four = _mm_cvtsi128_si32(value);
      __builtin_memcpy(to + c, &four, sizeof(four));
    }
    for (; c < columns; ++c) to[c] = RequantizeOne(p, c, row[c]);
  }
}

}  // namespace

void RequantizeAvx2(const RequantizeColumns& p, int64_t rows, int64_t columns,
                    const int32_t* sums, uint8_t* out, int64_t out_stride) {
  (p.half_even ? Requantize<true> : Requantize<false>)(p, rows, columns, sums,
                                                       out, out_stride);
}

}  // namespace edgekiln::ops

#endif  // __AVX2__
