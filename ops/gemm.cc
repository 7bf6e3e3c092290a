#include "ops/gemm.h"

#include <algorithm>

#include "ops/gemm_kernels.h"

namespace edgekiln::ops {
namespace {

// Of left-hand side or sums at a time.
constexpr int64_t kStepElements = 1 << 18;

int64_t Blocks(int64_t columns) {
  return (columns + kGemmColumns - 1) / kGemmColumns;
}

}  // namespace

int64_t RowsPerStep(int64_t rows, int64_t depth, int64_t columns) {
  const int64_t widest = std::max<int64_t>({depth, columns, 1});
  return std::clamp<int64_t>(kStepElements / widest, 1, rows);
}

template <typename T>
PackedInt16::PackedInt16(const T* source, int64_t depth, int64_t columns,
                         int64_t depth_stride, int64_t column_stride,
                         int32_t zero_point)
    : columns_(columns),
      padded_depth_(depth + depth % 2),
      data_(Blocks(columns) * padded_depth_ * kGemmColumns, 0) {
  for (int64_t n = 0; n < columns; ++n) {
    int16_t* to = data_.data() +
                  n / kGemmColumns * padded_depth_ * kGemmColumns +
                  n % kGemmColumns * 2;
    const T* from = source + n * column_stride;
    for (int64_t k = 0; k < depth; ++k) {
      to[k / 2 * 2 * kGemmColumns + k % 2] =
          static_cast<int16_t>(from[k * depth_stride] - zero_point);
    }
  }
}

template PackedInt16::PackedInt16(const int8_t*, int64_t, int64_t, int64_t,
                                  int64_t, int32_t);
template PackedInt16::PackedInt16(const uint8_t*, int64_t, int64_t, int64_t,
                                  int64_t, int32_t);

PackedFloat::PackedFloat(const float* source, int64_t depth, int64_t columns,
                         int64_t depth_stride, int64_t column_stride)
    : columns_(columns),
      depth_(depth),
      data_(Blocks(columns) * depth * kGemmColumns, 0.0f) {
  for (int64_t n = 0; n < columns; ++n) {
    float* to = data_.data() + n / kGemmColumns * depth * kGemmColumns +
                n % kGemmColumns;
    const float* from = source + n * column_stride;
    for (int64_t k = 0; k < depth; ++k) {
      to[k * kGemmColumns] = from[k * depth_stride];
    }
  }
}

void Multiply(CpuPath path, int64_t rows, const int16_t* left,
              const PackedInt16& right, int32_t* out) {
  Int16BlockKernel kernel = Int16BlockScalar;
#if defined(__x86_64__)
  const CpuPath resolved = ResolveCpuPath(path);
  if (resolved == CpuPath::kAvx512) kernel = Int16BlockAvx512;
  if (resolved == CpuPath::kAvx2) kernel = Int16BlockAvx2;
#else
  static_cast<void>(path);
#endif
  for (int64_t n = 0; n < right.columns(); n += kGemmColumns) {
    kernel(rows, std::min(kGemmColumns, right.columns() - n),
           right.padded_depth(), left, right.block(n / kGemmColumns), out + n,
           right.columns());
  }
}

void Multiply(CpuPath path, int64_t rows, const float* left,
              const PackedFloat& right, float* out) {
  FloatBlockKernel kernel = FloatBlockScalar;
#if defined(__x86_64__)
  const CpuPath resolved = ResolveCpuPath(path);
  if (resolved == CpuPath::kAvx512) kernel = FloatBlockAvx512;
  if (resolved == CpuPath::kAvx2) kernel = FloatBlockAvx2;
#else
  static_cast<void>(path);
#endif
  for (int64_t n = 0; n < right.columns(); n += kGemmColumns) {
    kernel(rows, std::min(kGemmColumns, right.columns() - n), right.depth(),
           left, right.block(n / kGemmColumns), out + n, right.columns());
  }
}

}  // namespace edgekiln::ops
