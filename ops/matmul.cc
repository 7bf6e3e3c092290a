#include <algorithm>
#include <vector>

#include "base/status_macros.h"
#include "ops/dot_output.h"
#include "ops/gemm.h"
#include "ops/kernels.h"
#include "ops/quantized_parameters.h"

namespace edgekiln::ops {
namespace {

struct MatMulGeometry {
  int64_t rows, depth, columns;
  std::vector<int64_t> batch;  // Leading dimensions of the output.
};

MatMulGeometry GeometryOf(Inputs inputs, absl::Span<const int64_t> out) {
  return {out[out.size() - 2],
          inputs[0].shape.back(),
          out.back(),
          {out.begin(), out.end() - 2}};
}

// Index of the matrix of `input` that broadcasting pairs with matrix `index` of
// the output.
int64_t BroadcastMatrix(int64_t index, const std::vector<int64_t>& batch,
                        absl::Span<const int64_t> input) {
  int64_t result = 0;
  int64_t stride = 1;
  const int64_t dims = static_cast<int64_t>(input.size()) - 2;
  for (int64_t i = 0; i < std::ssize(batch); ++i) {
    const int64_t extent = batch[batch.size() - 1 - i];
    const int64_t position = index % extent;
    index /= extent;
    if (i >= dims) continue;
    const int64_t own = input[dims - 1 - i];
    result += (own == 1 ? 0 : position) * stride;
    stride *= own;
  }
  return result;
}

// One matrix: `a` [rows, depth] times `right`.
template <typename T>
void MultiplyQuantized(const MatMulGeometry& g, const T* a,
                       const PackedInt16& right,
                       const QuantizedDotParameters& parameters, T* out,
                       CpuPath path) {
  const int64_t stride = right.padded_depth();
  const int64_t step = RowsPerStep(g.rows, g.depth, g.columns);
  std::vector<int16_t> left(step * stride, 0);
  std::vector<int32_t> sums(step * g.columns);
  for (int64_t first = 0; first < g.rows; first += step) {
    const int64_t count = std::min(step, g.rows - first);
    for (int64_t r = 0; r < count; ++r) {
      for (int64_t k = 0; k < g.depth; ++k) {
        left[r * stride + k] = static_cast<int16_t>(
            a[(first + r) * g.depth + k] - parameters.input_zero_point);
      }
    }
    Multiply(path, count, left.data(), right, sums.data());
    FinishRows(sums.data(), count, parameters, nullptr,
               out + first * g.columns);
  }
}

template <typename T>
absl::Status MatMulQuantized(const MatMulGeometry& g, Inputs inputs,
                             const MutableTensorView& output, CpuPath path) {
  EK_ASSIGN_OR_RETURN(
      const QuantizedDotParameters parameters,
      DotParameters({}, inputs[0].quantization, inputs[1].quantization,
                    output.quantization, output.type, g.columns));
  for (int64_t m = 0; m < NumElements(g.batch); ++m) {
    const T* a =
        inputs[0].as<T>() +
        BroadcastMatrix(m, g.batch, inputs[0].shape) * g.rows * g.depth;
    const T* b =
        inputs[1].as<T>() +
        BroadcastMatrix(m, g.batch, inputs[1].shape) * g.depth * g.columns;
    const PackedInt16 right(b, g.depth, g.columns, g.columns, 1,
                            parameters.weight_zero_point);
    MultiplyQuantized(g, a, right, parameters,
                      output.as<T>() + m * g.rows * g.columns, path);
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status MatMul(Inputs inputs, const MutableTensorView& output,
                    CpuPath path) {
  const MatMulGeometry g = GeometryOf(inputs, output.shape);
  if (output.type == v1::INT8) {
    return MatMulQuantized<int8_t>(g, inputs, output, path);
  }
  if (output.type == v1::UINT8) {
    return MatMulQuantized<uint8_t>(g, inputs, output, path);
  }
  for (int64_t m = 0; m < NumElements(g.batch); ++m) {
    const float* a =
        inputs[0].as<float>() +
        BroadcastMatrix(m, g.batch, inputs[0].shape) * g.rows * g.depth;
    const float* b =
        inputs[1].as<float>() +
        BroadcastMatrix(m, g.batch, inputs[1].shape) * g.depth * g.columns;
    const PackedFloat right(b, g.depth, g.columns, g.columns, 1);
    Multiply(path, g.rows, a, right,
             output.as<float>() + m * g.rows * g.columns);
  }
  return absl::OkStatus();
}

}  // namespace edgekiln::ops
