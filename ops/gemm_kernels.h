#ifndef EK_OPS_GEMM_KERNELS_H_
#define EK_OPS_GEMM_KERNELS_H_

#include <cstdint>

// One function per instruction set, each in a source file of its own that is
// compiled for it. `ops/gemm.h` chooses; nobody else calls these.
namespace edgekiln::ops {

// One block of columns: out[r * out_stride + n], n < columns <= kGemmColumns.
using Int16BlockKernel = void (*)(int64_t rows, int64_t columns,
                                  int64_t padded_depth, const int16_t* left,
                                  const int16_t* block, int32_t* out,
                                  int64_t out_stride);
using FloatBlockKernel = void (*)(int64_t rows, int64_t columns, int64_t depth,
                                  const float* left, const float* block,
                                  float* out, int64_t out_stride);

void Int16BlockScalar(int64_t, int64_t, int64_t, const int16_t*, const int16_t*,
                      int32_t*, int64_t);
void Int16BlockAvx2(int64_t, int64_t, int64_t, const int16_t*, const int16_t*,
                    int32_t*, int64_t);
void Int16BlockAvx512(int64_t, int64_t, int64_t, const int16_t*, const int16_t*,
                      int32_t*, int64_t);
void FloatBlockScalar(int64_t, int64_t, int64_t, const float*, const float*,
                      float*, int64_t);
void FloatBlockAvx2(int64_t, int64_t, int64_t, const float*, const float*,
                    float*, int64_t);
void FloatBlockAvx512(int64_t, int64_t, int64_t, const float*, const float*,
                      float*, int64_t);
// For every machine; nobody hurries these.
void DoubleBlock(int64_t, int64_t, int64_t, const double*, const double*,
                 double*, int64_t);
void Uint32Block(int64_t, int64_t, int64_t, const uint32_t*, const uint32_t*,
                 uint32_t*, int64_t);
void Int64Block(int64_t, int64_t, int64_t, const int64_t*, const int64_t*,
                int64_t*, int64_t);

}  // namespace edgekiln::ops

#endif  // EK_OPS_GEMM_KERNELS_H_
