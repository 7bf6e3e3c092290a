#ifndef EK_OPS_DOT_H_
#define EK_OPS_DOT_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <vector>

#include "absl/status/statusor.h"
#include "base/status_macros.h"
#include "ops/copy_less.h"
#include "ops/dot_output.h"
#include "ops/gemm.h"
#include "ops/kernels.h"
#include "ops/prepared.h"
#include "ops/quantized_parameters.h"
#include "ops/tensor_view.h"

// Sums of products in each arithmetic there is. A "Dot" says how the values of
// one element type are multiplied, summed and finished; convolution, fully
// connected and matmul are templates over it.
//
//   Value  element type of the activations
//   Left   what an activation is multiplied as
//   Right  the weights, packed
//   Sum    type of the accumulators
namespace edgekiln::ops {

// A matrix [depth, columns] inside a tensor of weights.
struct WeightMatrix {
  int64_t first;  // Element of the tensor that is (0, 0).
  int64_t depth, columns;
  int64_t depth_stride, column_stride;
  int64_t first_channel;  // Of the output: what column 0 is.
};

// Whether that many matrices may stay packed: their columns are filled up.
inline bool FitsPacked(int64_t matrices, int64_t depth, int64_t columns) {
  const int64_t padded = (columns + kGemmColumns - 1) / kGemmColumns;
  return depth == 0 || padded == 0 ||
         matrices <= kMaxPackedElements / kGemmColumns / depth / padded;
}

// Where rows of results go: element (r, n) of channel first_channel + n is
// output element first + r * stride + n.
struct DotTarget {
  const MutableTensorView& output;
  int64_t first;
  int64_t stride;
  int64_t first_channel;
  TensorView bias;  // May be absent.
};

// Of channels [first, first + count): one for all, or one each.
absl::Span<const int32_t> ZeroPoints(const QuantizationView& q, int64_t first,
                                     int64_t count);

// All of `w`, less the zero point of each channel of its last dimension.
template <typename Left, typename T>
std::vector<Left> LessZeroPoints(const TensorView& w) {
  const int64_t channels = w.shape.back();
  const QuantizationView& q = w.quantization;
  std::vector<Left> values(NumElements(w.shape));
  for (size_t i = 0; i < values.size(); ++i) {
    const int64_t channel = static_cast<int64_t>(i) % channels;
    const Left zero =
        q.present()
            ? static_cast<Left>(q.zero_point[q.per_channel() ? channel : 0])
            : Left{0};
    values[i] = static_cast<Left>(w.as<T>()[i] - zero);
  }
  return values;
}

// float and double.
template <typename T>
class RealDot {
 public:
  using Value = T;
  using Left = T;
  using Right = Packed<T>;
  using Sum = T;

  explicit RealDot(const v1::Clamp& clamp) : range_(FloatRangeOf(clamp)) {}

  Left input_zero() const { return 0; }
  Right Pack(const TensorView& w, const WeightMatrix& m) const {
    return Right(w.as<T>() + m.first, m.depth, m.columns, m.depth_stride,
                 m.column_stride);
  }
  // Weights of a depthwise convolution: the tensor as it is.
  std::vector<Left> Lefts(const TensorView& w) const {
    return LessZeroPoints<Left, T>(w);
  }
  // `sums` are the output itself.
  void Finish(Sum* sums, int64_t rows, int64_t columns, const DotTarget& to,
              CpuPath) const {
    const T* bias =
        to.bias.present() ? to.bias.as<T>() + to.first_channel : nullptr;
    const T low = range_.min, high = range_.max;
    for (int64_t r = 0; r < rows; ++r) {
      T* row = sums + r * to.stride;
      for (int64_t c = 0; c < columns; ++c) {
        const T value = bias == nullptr ? row[c] : row[c] + bias[c];
        const T raised = value < low ? low : value;
        row[c] = raised > high ? high : raised;
      }
    }
  }

 private:
  FloatRange range_;
};

// Bias, rescaling and clamp of 8-bit results, its factors side by side as the
// kernels want them. Results of int32 get the bias only.
class ByteFinish {
 public:
  explicit ByteFinish(const QuantizedDotParameters& parameters);
  void Run(const int32_t* sums, int64_t rows, int64_t columns,
           const DotTarget& to, CpuPath path) const;

 private:
  std::vector<int64_t> multiplier_, shift_, round_;
  std::vector<int32_t> no_bias_;
  int32_t zero_point_;
  QuantizedRange range_;
  bool half_even_ = false;
};

// int8 and uint8 activations, weights and results in any combination, or int32
// results; exact sums in int32.
template <typename T>
class ByteDot {
 public:
  using Value = T;
  using Left = int16_t;
  using Right = PackedInt16;
  using Sum = int32_t;

  explicit ByteDot(const QuantizedDotParameters& parameters)
      : input_zero_(static_cast<Left>(parameters.input_zero_point)),
        finish_(parameters) {}

  Left input_zero() const { return input_zero_; }
  Right Pack(const TensorView& w, const WeightMatrix& m) const {
    const absl::Span<const int32_t> zero =
        ZeroPoints(w.quantization, m.first_channel, m.columns);
    if (w.type == v1::UINT8) {
      return Right(w.as<uint8_t>() + m.first, m.depth, m.columns,
                   m.depth_stride, m.column_stride, zero);
    }
    return Right(w.as<int8_t>() + m.first, m.depth, m.columns, m.depth_stride,
                 m.column_stride, zero);
  }
  std::vector<Left> Lefts(const TensorView& w) const {
    return w.type == v1::UINT8 ? LessZeroPoints<Left, uint8_t>(w)
                               : LessZeroPoints<Left, int8_t>(w);
  }
  void Finish(const Sum* sums, int64_t rows, int64_t columns,
              const DotTarget& to, CpuPath path) const {
    finish_.Run(sums, rows, columns, to, path);
  }

 private:
  Left input_zero_;
  ByteFinish finish_;
};

// int16 activations and results, or int32 results; weights of int8 (or, for
// matmul, int16).
class WideDot {
 public:
  using Value = int16_t;
  using Left = int64_t;
  using Right = Packed<int64_t>;
  using Sum = int64_t;

  explicit WideDot(QuantizedDotParameters parameters)
      : parameters_(std::move(parameters)) {}

  Left input_zero() const { return parameters_.input_zero_point; }
  Right Pack(const TensorView& w, const WeightMatrix& m) const;
  std::vector<Left> Lefts(const TensorView& w) const {
    return LessZeroPoints<Left, int8_t>(w);
  }
  void Finish(const Sum* sums, int64_t rows, int64_t columns,
              const DotTarget& to, CpuPath path) const;

 private:
  QuantizedDotParameters parameters_;
};

// Plain int32, modulo 2^32.
class WrappingDot {
 public:
  using Value = int32_t;
  using Left = uint32_t;
  using Right = Packed<uint32_t>;
  using Sum = uint32_t;

  Left input_zero() const { return 0; }
  Right Pack(const TensorView& w, const WeightMatrix& m) const;
  std::vector<Left> Lefts(const TensorView& w) const {
    return LessZeroPoints<Left, int32_t>(w);
  }
  void Finish(const Sum* sums, int64_t rows, int64_t columns,
              const DotTarget& to, CpuPath path) const;
};

// Calls make(dot) for the arithmetic of input 0.
template <typename Make>
absl::StatusOr<std::unique_ptr<PreparedOp>> WithDot(
    const v1::Clamp& clamp, v1::Rounding rounding, Inputs inputs,
    const TensorView& output, int64_t channels, const Make& make) {
  switch (inputs[0].type) {
    case v1::FLOAT32:
      return make(RealDot<float>(clamp));
    case v1::FLOAT64:
      return make(RealDot<double>(clamp));
    case v1::INT32:
      return make(WrappingDot());
    default:
      break;
  }
  EK_ASSIGN_OR_RETURN(
      QuantizedDotParameters parameters,
      output.type == v1::INT32
          ? AccumulatorParameters(inputs[0].quantization,
                                  inputs[1].quantization, channels)
          : DotParameters(clamp, rounding, inputs[0].quantization,
                          inputs[1].quantization, output.quantization,
                          output.type, channels));
  if (inputs[0].type == v1::INT16) return make(WideDot(std::move(parameters)));
  if (inputs[0].type == v1::UINT8) {
    return make(ByteDot<uint8_t>(parameters));
  }
  return make(ByteDot<int8_t>(parameters));
}

// Rows of left-hand sides times `right`, some at a time. `gather(first, count,
// to)` writes rows [first, first + count) of left-hand sides to `to`,
// right.padded_depth() apart, and may write kRowSlack elements more. What is
// beyond the depth counts nothing.
template <typename Dot, typename Gather>
void MultiplyRows(const Dot& dot, const typename Dot::Right& right,
                  int64_t all_rows, const DotTarget& to, const Gather& gather,
                  CpuPath path) {
  const int64_t stride = right.padded_depth();
  const int64_t columns = right.columns();
  const int64_t step = RowsPerStep(all_rows, stride, columns);
  std::vector<typename Dot::Left> left(step * stride + kRowSlack, 0);
  constexpr bool kInPlace = std::is_floating_point_v<typename Dot::Sum>;
  std::vector<typename Dot::Sum> buffer(kInPlace ? 0 : step * columns);
  for (int64_t first = 0; first < all_rows; first += step) {
    const int64_t rows = std::min(step, all_rows - first);
    gather(first, rows, left.data());
    DotTarget part = to;
    part.first += first * to.stride;
    if constexpr (kInPlace) {
      typename Dot::Sum* out =
          to.output.template as<typename Dot::Sum>() + part.first;
      Multiply(path, rows, left.data(), right, out, to.stride);
      dot.Finish(out, rows, columns, part, path);
    } else {
      Multiply(path, rows, left.data(), right, buffer.data(), columns);
      dot.Finish(buffer.data(), rows, columns, part, path);
    }
  }
}

// The same for left-hand sides that lie in a tensor as they are, `depth` apart.
template <typename Dot>
void MultiplyDense(const Dot& dot, const typename Dot::Right& right,
                   const typename Dot::Value* x, int64_t rows, int64_t depth,
                   const DotTarget& to, CpuPath path) {
  if constexpr (std::is_same_v<typename Dot::Value, typename Dot::Sum>) {
    typename Dot::Sum* out =
        to.output.template as<typename Dot::Sum>() + to.first;
    Multiply(path, rows, x, right, out, to.stride);
    dot.Finish(out, rows, right.columns(), to, path);
  } else {
    const typename Dot::Left zero = dot.input_zero();
    const int64_t stride = right.padded_depth();
    MultiplyRows(
        dot, right, rows, to,
        [&](int64_t first, int64_t count, typename Dot::Left* left) {
          for (int64_t r = 0; r < count; ++r) {
            CopyLess(x + (first + r) * depth, depth, zero, left + r * stride);
          }
        },
        path);
  }
}

}  // namespace edgekiln::ops

#endif  // EK_OPS_DOT_H_
