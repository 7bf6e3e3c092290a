#include <algorithm>
#include <vector>

#include "base/status_macros.h"
#include "ops/dot_output.h"
#include "ops/gemm.h"
#include "ops/kernels.h"
#include "ops/quantized_parameters.h"

namespace edgekiln::ops {
namespace {

template <typename T>
absl::Status FullyConnectedQuantized(const v1::Clamp& clamp, Inputs inputs,
                                     const MutableTensorView& output,
                                     CpuPath path) {
  const int64_t columns = inputs[1].shape[0];
  const int64_t depth = inputs[1].shape[1];
  const int64_t rows = NumElements(output.shape) / columns;
  EK_ASSIGN_OR_RETURN(
      const QuantizedDotParameters parameters,
      DotParameters(clamp, inputs[0].quantization, inputs[1].quantization,
                    output.quantization, output.type, columns));
  const PackedInt16 weights(inputs[1].as<T>(), depth, columns, 1, depth,
                            parameters.weight_zero_point);
  const int64_t stride = weights.padded_depth();
  const int64_t step = RowsPerStep(rows, depth, columns);
  std::vector<int16_t> left(step * stride, 0);
  std::vector<int32_t> sums(step * columns);
  for (int64_t first = 0; first < rows; first += step) {
    const int64_t count = std::min(step, rows - first);
    const T* from = inputs[0].as<T>() + first * depth;
    for (int64_t r = 0; r < count; ++r) {
      for (int64_t k = 0; k < depth; ++k) {
        left[r * stride + k] = static_cast<int16_t>(
            from[r * depth + k] - parameters.input_zero_point);
      }
    }
    Multiply(path, count, left.data(), weights, sums.data());
    FinishRows(sums.data(), count, parameters, InputOr(inputs, 2).as<int32_t>(),
               output.as<T>() + first * columns);
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status FullyConnected(const v1::FullyConnected& op, Inputs inputs,
                            const MutableTensorView& output, CpuPath path) {
  if (output.type == v1::INT8) {
    return FullyConnectedQuantized<int8_t>(op.clamp(), inputs, output, path);
  }
  if (output.type == v1::UINT8) {
    return FullyConnectedQuantized<uint8_t>(op.clamp(), inputs, output, path);
  }
  const int64_t columns = inputs[1].shape[0];
  const int64_t depth = inputs[1].shape[1];
  const int64_t rows = NumElements(output.shape) / columns;
  const PackedFloat weights(inputs[1].as<float>(), depth, columns, 1, depth);
  Multiply(path, rows, inputs[0].as<float>(), weights, output.as<float>());
  FinishRows(output.as<float>(), rows, columns, InputOr(inputs, 2).as<float>(),
             FloatRangeOf(op.clamp()));
  return absl::OkStatus();
}

}  // namespace edgekiln::ops
