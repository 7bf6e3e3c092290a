#include "ops/gemm.h"

#include <algorithm>
#include <cstring>

#include "ops/gemm_kernels.h"

namespace edgekiln::ops {
namespace {

// Of left-hand side or sums at a time: wanted, and at most.
constexpr int64_t kStepElements = 1 << 15;
constexpr int64_t kMostStepElements = 1 << 18;
// Fewer rows do not pay for reading all weights again.
constexpr int64_t kFewestRows = 64;
// Kernels compute up to so many rows at once, and those that are left one by
// one.
constexpr int64_t kRowsAtOnce = 8;

int64_t Blocks(int64_t columns) {
  return (columns + kGemmColumns - 1) / kGemmColumns;
}

template <typename Left, typename Right, typename Sum>
void ForEachBlock(void (*kernel)(int64_t, int64_t, int64_t, const Left*,
                                 const Left*, Sum*, int64_t),
                  int64_t rows, const Left* left, const Right& right, Sum* out,
                  int64_t out_stride) {
  for (int64_t n = 0; n < right.columns(); n += kGemmColumns) {
    kernel(rows, std::min(kGemmColumns, right.columns() - n),
           right.padded_depth(), left, right.block(n / kGemmColumns), out + n,
           out_stride);
  }
}

}  // namespace

int64_t RowsPerStep(int64_t rows, int64_t depth, int64_t columns) {
  const int64_t widest = std::max<int64_t>({depth, columns, 1});
  int64_t step = std::min(std::max(kStepElements / widest, kFewestRows),
                          kMostStepElements / widest);
  if (step > kRowsAtOnce) step -= step % kRowsAtOnce;
  return std::clamp<int64_t>(step, 1, rows);
}

template <typename T>
PackedInt16::PackedInt16(const T* source, int64_t depth, int64_t columns,
                         int64_t depth_stride, int64_t column_stride,
                         absl::Span<const int32_t> zero_points)
    : columns_(columns),
      padded_depth_(depth + depth % 2),
      data_(Blocks(columns) * padded_depth_ * kGemmColumns, 0) {
  for (int64_t n = 0; n < columns; ++n) {
    int16_t* to = data_.data() +
                  n / kGemmColumns * padded_depth_ * kGemmColumns +
                  n % kGemmColumns * 2;
    const T* from = source + n * column_stride;
    const int32_t zero_point = zero_points[zero_points.size() == 1 ? 0 : n];
    const auto at = [&](int64_t k) {
      return static_cast<int16_t>(from[k * depth_stride] - zero_point);
    };
    for (int64_t k = 0; k + 1 < depth; k += 2) {
      const int16_t pair[2] = {at(k), at(k + 1)};
      std::memcpy(to + k * kGemmColumns, pair, sizeof(pair));
    }
    if (depth % 2 != 0) to[(depth - 1) * kGemmColumns] = at(depth - 1);
  }
}

template PackedInt16::PackedInt16(const int8_t*, int64_t, int64_t, int64_t,
                                  int64_t, absl::Span<const int32_t>);
template PackedInt16::PackedInt16(const uint8_t*, int64_t, int64_t, int64_t,
                                  int64_t, absl::Span<const int32_t>);

void Multiply(CpuPath path, int64_t rows, const int16_t* left,
              const PackedInt16& right, int32_t* out, int64_t out_stride) {
  Int16BlockKernel kernel = Int16BlockScalar;
#if defined(__x86_64__)
  const CpuPath resolved = ResolveCpuPath(path);
  if (resolved == CpuPath::kAvx512) kernel = Int16BlockAvx512;
  if (resolved == CpuPath::kAvx2) kernel = Int16BlockAvx2;
#else
  static_cast<void>(path);
#endif
  ForEachBlock(kernel, rows, left, right, out, out_stride);
}

void Multiply(CpuPath path, int64_t rows, const float* left,
              const Packed<float>& right, float* out, int64_t out_stride) {
  FloatBlockKernel kernel = FloatBlockScalar;
#if defined(__x86_64__)
  const CpuPath resolved = ResolveCpuPath(path);
  if (resolved == CpuPath::kAvx512) kernel = FloatBlockAvx512;
  if (resolved == CpuPath::kAvx2) kernel = FloatBlockAvx2;
#else
  static_cast<void>(path);
#endif
  ForEachBlock(kernel, rows, left, right, out, out_stride);
}

void Multiply(CpuPath, int64_t rows, const double* left,
              const Packed<double>& right, double* out, int64_t out_stride) {
  ForEachBlock(DoubleBlock, rows, left, right, out, out_stride);
}

void Multiply(CpuPath, int64_t rows, const uint32_t* left,
              const Packed<uint32_t>& right, uint32_t* out,
              int64_t out_stride) {
  ForEachBlock(Uint32Block, rows, left, right, out, out_stride);
}

void Multiply(CpuPath, int64_t rows, const int64_t* left,
              const Packed<int64_t>& right, int64_t* out, int64_t out_stride) {
  ForEachBlock(Int64Block, rows, left, right, out, out_stride);
}

}  // namespace edgekiln::ops
