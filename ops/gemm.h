#ifndef EK_OPS_GEMM_H_
#define EK_OPS_GEMM_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "ops/cpu_path.h"

// Matrix products behind convolution, fully connected and matmul.
//
// Right-hand sides are packed once into blocks of kGemmColumns columns, so that
// kernels vectorise across columns (outputs) and never across the sum. Float
// sums run over the depth in ascending order, starting from 0, each product
// rounded before it is added: the same bits with every vector width.
namespace edgekiln::ops {

inline constexpr int64_t kGemmColumns = 16;

// Limit of the elements of a packed right-hand side, CheckOp's business:
// packing a few columns of great depth multiplies their size.
inline constexpr int64_t kMaxPackedElements = int64_t{1} << 28;

// Elements behind the last row of left-hand sides that whoever writes them may
// write, too.
inline constexpr int64_t kRowSlack = 16;

// Rows to compute at a time, at least 1, so that their left-hand side and their
// sums stay near the caches whatever the shape, and weights are not read anew
// for a few rows.
int64_t RowsPerStep(int64_t rows, int64_t depth, int64_t columns);

// A [depth, columns] matrix of int16, pairs of depth interleaved:
// [block][depth / 2][column in block][2], zeros where there is no element.
class PackedInt16 {
 public:
  // Element (k, n) is source[k * depth_stride + n * column_stride] less the
  // zero point of column n; one zero point stands for all columns. T is int8_t
  // or uint8_t.
  template <typename T>
  PackedInt16(const T* source, int64_t depth, int64_t columns,
              int64_t depth_stride, int64_t column_stride,
              absl::Span<const int32_t> zero_points);

  const int16_t* block(int64_t index) const {
    return data_.data() + index * padded_depth_ * kGemmColumns;
  }
  int64_t columns() const { return columns_; }
  // Depth rounded up to an even number: the row stride of left-hand sides.
  int64_t padded_depth() const { return padded_depth_; }

 private:
  int64_t columns_;
  int64_t padded_depth_;
  std::vector<int16_t> data_;
};

// A [depth, columns] matrix in the type of its sums: [block][depth][column in
// block], zeros where there is no element. T is float, double, uint32_t (sums
// that wrap) or int64_t (int16 activations).
template <typename T>
class Packed {
 public:
  // Element (k, n) is source[k * depth_stride + n * column_stride] -
  // zero_point.
  template <typename From>
  Packed(const From* source, int64_t depth, int64_t columns,
         int64_t depth_stride, int64_t column_stride, T zero_point = 0)
      : columns_(columns),
        depth_(depth),
        data_(
            (columns + kGemmColumns - 1) / kGemmColumns * depth * kGemmColumns,
            0) {
    for (int64_t n = 0; n < columns; ++n) {
      T* to = data_.data() + n / kGemmColumns * depth * kGemmColumns +
              n % kGemmColumns;
      const From* from = source + n * column_stride;
      for (int64_t k = 0; k < depth; ++k) {
        to[k * kGemmColumns] =
            static_cast<T>(from[k * depth_stride]) - zero_point;
      }
    }
  }

  const T* block(int64_t index) const {
    return data_.data() + index * depth_ * kGemmColumns;
  }
  int64_t columns() const { return columns_; }
  int64_t padded_depth() const { return depth_; }

 private:
  int64_t columns_;
  int64_t depth_;
  std::vector<T> data_;
};

// out[r * out_stride + n] = sum_k left[r * right.padded_depth() + k] *
// right(k, n). The caller keeps sums of int16 within int32 and of int64 within
// int64.
void Multiply(CpuPath path, int64_t rows, const int16_t* left,
              const PackedInt16& right, int32_t* out, int64_t out_stride);
void Multiply(CpuPath path, int64_t rows, const float* left,
              const Packed<float>& right, float* out, int64_t out_stride);
void Multiply(CpuPath path, int64_t rows, const double* left,
              const Packed<double>& right, double* out, int64_t out_stride);
void Multiply(CpuPath path, int64_t rows, const uint32_t* left,
              const Packed<uint32_t>& right, uint32_t* out, int64_t out_stride);
void Multiply(CpuPath path, int64_t rows, const int64_t* left,
              const Packed<int64_t>& right, int64_t* out, int64_t out_stride);

}  // namespace edgekiln::ops

#endif  // EK_OPS_GEMM_H_
