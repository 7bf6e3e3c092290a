#include <algorithm>
#include <vector>

#include "base/status_macros.h"
#include "ops/dot_output.h"
#include "ops/kernels.h"
#include "ops/quantized_parameters.h"

namespace edgekiln::ops {
namespace {

// For each output element, the sum over the reduced axes in row-major order of
// the input.
template <typename T, typename Sum>
std::vector<Sum> SumOver(const v1::ReduceMean& op, const TensorView& input,
                         int64_t outputs) {
  const auto shape = input.shape;
  std::vector<bool> reduced(shape.size(), false);
  for (const int32_t axis : op.axes()) reduced[axis] = true;
  std::vector<int64_t> step(shape.size(), 0);
  int64_t stride = 1;
  for (int64_t d = std::ssize(shape) - 1; d >= 0; --d) {
    if (reduced[d]) continue;
    step[d] = stride;
    stride *= shape[d];
  }
  std::vector<Sum> sums(outputs, 0);
  std::vector<int64_t> position(shape.size(), 0);
  int64_t at = 0;
  for (int64_t i = 0; i < NumElements(shape); ++i) {
    sums[at] += static_cast<Sum>(input.as<T>()[i]);
    for (int64_t d = std::ssize(shape) - 1; d >= 0; --d) {
      at += step[d];
      if (++position[d] < shape[d]) break;
      at -= step[d] * shape[d];
      position[d] = 0;
    }
  }
  return sums;
}

int64_t Count(const v1::ReduceMean& op, const TensorView& input) {
  int64_t count = 1;
  for (const int32_t axis : op.axes()) count *= input.shape[axis];
  return count;
}

template <typename T>
absl::Status MeanQuantized(const v1::ReduceMean& op, const TensorView& input,
                           const MutableTensorView& output) {
  EK_ASSIGN_OR_RETURN(
      const RescaleParameters p,
      ChangeOfScale({}, input.quantization, output.quantization, output.type));
  const auto count = static_cast<int32_t>(Count(op, input));
  const int64_t outputs = NumElements(output.shape);
  const std::vector<int32_t> sums = SumOver<T, int32_t>(op, input, outputs);
  for (int64_t i = 0; i < outputs; ++i) {
    const int32_t centred = sums[i] - count * p.input_zero_point;
    const int32_t mean = RoundedAverage(Rescale(centred, p.multiplier), count);
    output.as<T>()[i] = static_cast<T>(std::clamp<int64_t>(
        int64_t{mean} + p.output_zero_point, p.clamp.min, p.clamp.max));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ReduceMean(const v1::ReduceMean& op, const TensorView& input,
                        const MutableTensorView& output) {
  if (output.type == v1::INT8) return MeanQuantized<int8_t>(op, input, output);
  if (output.type == v1::UINT8) {
    return MeanQuantized<uint8_t>(op, input, output);
  }
  const int64_t outputs = NumElements(output.shape);
  const std::vector<double> sums = SumOver<float, double>(op, input, outputs);
  const auto count = static_cast<double>(Count(op, input));
  for (int64_t i = 0; i < outputs; ++i) {
    output.as<float>()[i] = static_cast<float>(sums[i] / count);
  }
  return absl::OkStatus();
}

}  // namespace edgekiln::ops
