#ifndef EK_OPS_GEMM_FLOAT_BLOCK_H_
#define EK_OPS_GEMM_FLOAT_BLOCK_H_

#include <cstdint>

#include "ops/gemm.h"

// The float kernel for any vector width, for the gemm_*.cc files only. Internal
// linkage on purpose: each of those files is compiled for other instructions,
// and the linker must never merge their copies. For the same reason nothing
// here uses inline functions of other headers.
namespace edgekiln::ops {

// `kRows` rows times one block. Lanes are columns; the sum over the depth is
// sequential in every lane.
template <int kLanes, int kRows>
static inline void FloatRows(int64_t columns, int64_t depth, const float* left,
                             const float* block, float* out,
                             int64_t out_stride) {
  typedef float Vector __attribute__((vector_size(kLanes * sizeof(float))));
  constexpr int kVectors = kGemmColumns / kLanes;
  Vector sum[kRows][kVectors] = {};
  for (int64_t k = 0; k < depth; ++k) {
    Vector right[kVectors];
    __builtin_memcpy(right, block + k * kGemmColumns, sizeof(right));
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      const float x = left[r * depth + k];
      for (int v = 0; v < kVectors; ++v) sum[r][v] += x * right[v];
    }
  }
  for (int r = 0; r < kRows; ++r) {
    // Through a copy: a sum whose address is taken would live in memory.
    Vector done[kVectors];
    for (int v = 0; v < kVectors; ++v) done[v] = sum[r][v];
    __builtin_memcpy(out + r * out_stride, done, columns * sizeof(float));
  }
}

template <int kLanes, int kRows>
static inline void FloatBlock(int64_t rows, int64_t columns, int64_t depth,
                              const float* left, const float* block, float* out,
                              int64_t out_stride) {
  int64_t r = 0;
  for (; r + kRows <= rows; r += kRows) {
    FloatRows<kLanes, kRows>(columns, depth, left + r * depth, block,
                             out + r * out_stride, out_stride);
  }
  for (; r < rows; ++r) {
    FloatRows<kLanes, 1>(columns, depth, left + r * depth, block,
                         out + r * out_stride, out_stride);
  }
}

}  // namespace edgekiln::ops

#endif  // EK_OPS_GEMM_FLOAT_BLOCK_H_
