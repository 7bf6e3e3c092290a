#include "ops/gemm_float_block.h"
#include "ops/gemm_kernels.h"

// What every machine can run. The integer kernel is the plain definition.
namespace edgekiln::ops {
namespace {

template <typename T>
void PlainBlock(int64_t rows, int64_t columns, int64_t depth, const T* left,
                const T* block, T* out, int64_t out_stride) {
  for (int64_t r = 0; r < rows; ++r) {
    T sum[kGemmColumns] = {};
    for (int64_t k = 0; k < depth; ++k) {
      const T x = left[r * depth + k];
      for (int64_t n = 0; n < kGemmColumns; ++n) {
        sum[n] += x * block[k * kGemmColumns + n];
      }
    }
    for (int64_t n = 0; n < columns; ++n) out[r * out_stride + n] = sum[n];
  }
}

}  // namespace

void Int16BlockScalar(int64_t rows, int64_t columns, int64_t padded_depth,
                      const int16_t* left, const int16_t* block, int32_t* out,
                      int64_t out_stride) {
  for (int64_t r = 0; r < rows; ++r) {
    int32_t sum[kGemmColumns] = {};
    const int16_t* x = left + r * padded_depth;
    for (int64_t k = 0; k < padded_depth; k += 2) {
      const int16_t* w = block + k * kGemmColumns;
      for (int64_t n = 0; n < kGemmColumns; ++n) {
        sum[n] += x[k] * w[2 * n] + x[k + 1] * w[2 * n + 1];
      }
    }
    for (int64_t n = 0; n < columns; ++n) out[r * out_stride + n] = sum[n];
  }
}

void FloatBlockScalar(int64_t rows, int64_t columns, int64_t depth,
                      const float* left, const float* block, float* out,
                      int64_t out_stride) {
  FloatBlock<4, 2>(rows, columns, depth, left, block, out, out_stride);
}

void DoubleBlock(int64_t rows, int64_t columns, int64_t depth,
                 const double* left, const double* block, double* out,
                 int64_t out_stride) {
  PlainBlock(rows, columns, depth, left, block, out, out_stride);
}

void Uint32Block(int64_t rows, int64_t columns, int64_t depth,
                 const uint32_t* left, const uint32_t* block, uint32_t* out,
                 int64_t out_stride) {
  PlainBlock(rows, columns, depth, left, block, out, out_stride);
}

void Int64Block(int64_t rows, int64_t columns, int64_t depth,
                const int64_t* left, const int64_t* block, int64_t* out,
                int64_t out_stride) {
  PlainBlock(rows, columns, depth, left, block, out, out_stride);
}

}  // namespace edgekiln::ops
