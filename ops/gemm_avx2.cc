// Compiled with -mavx2 (ops/CMakeLists.txt); empty on other machines.
#if defined(__AVX2__)

#include <immintrin.h>

#include "ops/gemm_float_block.h"
#include "ops/gemm_kernels.h"

namespace edgekiln::ops {
namespace {

// vpmaddwd multiplies pairs of int16 and adds both products into int32: that
// is why depth is interleaved in pairs.
template <int kRows>
inline void Int16Rows(int64_t columns, int64_t padded_depth,
                      const int16_t* left, const int16_t* block, int32_t* out,
                      int64_t out_stride) {
  __m256i sum[kRows][2];
  for (int r = 0; r < kRows; ++r) {
    sum[r][0] = _mm256_setzero_si256();
    sum[r][1] = _mm256_setzero_si256();
  }
  for (int64_t k = 0; k < padded_depth; k += 2) {
    const auto* at = reinterpret_cast<const __m256i*>(block + k * kGemmColumns);
    const __m256i low = _mm256_loadu_si256(at);
    const __m256i high = _mm256_loadu_si256(at + 1);
    for (int r = 0; r < kRows; ++r) {
      int32_t pair = 0;
      __builtin_memcpy(&pair, left + r * padded_depth + k, sizeof(pair));
      const __m256i x = _mm256_set1_epi32(pair);
      sum[r][0] = _mm256_add_epi32(sum[r][0], _mm256_madd_epi16(x, low));
      sum[r][1] = _mm256_add_epi32(sum[r][1], _mm256_madd_epi16(x, high));
    }
  }
  for (int r = 0; r < kRows; ++r) {
    // Through a copy: a sum whose address is taken would live in memory.
    const __m256i done[2] = {sum[r][0], sum[r][1]};
    __builtin_memcpy(out + r * out_stride, done, columns * sizeof(int32_t));
  }
}

}  // namespace

void Int16BlockAvx2(int64_t rows, int64_t columns, int64_t padded_depth,
                    const int16_t* left, const int16_t* block, int32_t* out,
                    int64_t out_stride) {
  int64_t r = 0;
  for (; r + 4 <= rows; r += 4) {
    Int16Rows<4>(columns, padded_depth, left + r * padded_depth, block,
                 out + r * out_stride, out_stride);
  }
  for (; r < rows; ++r) {
    Int16Rows<1>(columns, padded_depth, left + r * padded_depth, block,
                 out + r * out_stride, out_stride);
  }
}

void FloatBlockAvx2(int64_t rows, int64_t columns, int64_t depth,
                    const float* left, const float* block, float* out,
                    int64_t out_stride) {
  FloatBlock<8, 4>(rows, columns, depth, left, block, out, out_stride);
}

}  // namespace edgekiln::ops

#endif  // __AVX2__
