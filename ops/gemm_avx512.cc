// Compiled with -mavx512bw (ops/CMakeLists.txt); empty on other machines.
#if defined(__AVX512BW__)

#include <immintrin.h>

#include "ops/gemm_float_block.h"
#include "ops/gemm_kernels.h"

namespace edgekiln::ops {
namespace {

// As in gemm_avx2.cc, one register for a whole block.
template <int kRows>
inline void Int16Rows(int64_t columns, int64_t padded_depth,
                      const int16_t* left, const int16_t* block, int32_t* out,
                      int64_t out_stride) {
  __m512i sum[kRows];
  for (int r = 0; r < kRows; ++r) sum[r] = _mm512_setzero_si512();
  for (int64_t k = 0; k < padded_depth; k += 2) {
    const __m512i w = _mm512_loadu_si512(block + k * kGemmColumns);
    for (int r = 0; r < kRows; ++r) {
      int32_t pair = 0;
      __builtin_memcpy(&pair, left + r * padded_depth + k, sizeof(pair));
      sum[r] = _mm512_add_epi32(sum[r],
                                _mm512_madd_epi16(_mm512_set1_epi32(pair), w));
    }
  }
  const auto mask = static_cast<__mmask16>((1u << columns) - 1);
  for (int r = 0; r < kRows; ++r) {
    _mm512_mask_storeu_epi32(out + r * out_stride, mask, sum[r]);
  }
}

}  // namespace

void Int16BlockAvx512(int64_t rows, int64_t columns, int64_t padded_depth,
                      const int16_t* left, const int16_t* block, int32_t* out,
                      int64_t out_stride) {
  int64_t r = 0;
  for (; r + 8 <= rows; r += 8) {
    Int16Rows<8>(columns, padded_depth, left + r * padded_depth, block,
                 out + r * out_stride, out_stride);
  }
  for (; r < rows; ++r) {
    Int16Rows<1>(columns, padded_depth, left + r * padded_depth, block,
                 out + r * out_stride, out_stride);
  }
}

void FloatBlockAvx512(int64_t rows, int64_t columns, int64_t depth,
                      const float* left, const float* block, float* out,
                      int64_t out_stride) {
  FloatBlock<16, 8>(rows, columns, depth, left, block, out, out_stride);
}

}  // namespace edgekiln::ops

#endif  // __AVX512BW__
