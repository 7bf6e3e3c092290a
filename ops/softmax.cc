#include <algorithm>
#include <array>

#include "ops/exp.h"
#include "ops/kernels.h"
#include "ops/quantized_parameters.h"

namespace edgekiln::ops {
namespace {

// Calls fn(first element) for each line of `count` elements that lie `step`
// apart along `axis`.
template <typename Fn>
void ForEachLine(absl::Span<const int64_t> shape, int32_t axis, const Fn& fn) {
  const int64_t count = shape[axis];
  const int64_t step = NumElements(shape.subspan(axis + 1));
  const int64_t outer = NumElements(shape.first(axis));
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t i = 0; i < step; ++i) fn(o * count * step + i, count, step);
  }
}

// TensorFlow Lite's own table: exp(-beta * scale * d) for d steps below the
// largest value, as floats.
std::array<float, 256> ExpTable(float beta, float input_scale) {
  std::array<float, 256> table{};
  const float scale = -input_scale * beta;
  for (int d = 0; d < 256; ++d) {
    const float exponent = scale * static_cast<float>(d);
    table[d] = static_cast<float>(Exp(double{exponent}));
  }
  return table;
}

template <typename T>
void SoftmaxQuantized(const v1::Softmax& op, const TensorView& input,
                      const MutableTensorView& output) {
  const std::array<float, 256> table =
      ExpTable(op.beta(), input.quantization.scale[0]);
  const QuantizedRange range = RangeOf(output.type);
  const float output_scale = output.quantization.scale[0];
  const int32_t zero_point = output.quantization.zero_point[0];
  const T* x = input.as<T>();
  T* y = output.as<T>();
  ForEachLine(
      output.shape, op.axis(), [&](int64_t at, int64_t count, int64_t step) {
        T largest = x[at];
        for (int64_t i = 0; i < count; ++i) {
          largest = std::max(largest, x[at + i * step]);
        }
        float sum = 0;
        for (int64_t i = 0; i < count; ++i) {
          sum += table[largest - x[at + i * step]];
        }
        const float factor = 1.0f / (sum * output_scale);
        for (int64_t i = 0; i < count; ++i) {
          const float steps = table[largest - x[at + i * step]] * factor;
          // At most 1 / output_scale, which may exceed int32.
          const float limited = std::min(steps + 0.5f, 65536.0f);
          const int32_t value = static_cast<int32_t>(limited) + zero_point;
          y[at + i * step] =
              static_cast<T>(std::clamp(value, range.min, range.max));
        }
      });
}

void SoftmaxFloat(const v1::Softmax& op, const TensorView& input,
                  const MutableTensorView& output) {
  const float* x = input.as<float>();
  float* y = output.as<float>();
  const double beta = op.beta();
  ForEachLine(
      output.shape, op.axis(), [&](int64_t at, int64_t count, int64_t step) {
        float largest = x[at];
        for (int64_t i = 0; i < count; ++i) {
          largest = std::max(largest, x[at + i * step]);
        }
        double sum = 0;
        for (int64_t i = 0; i < count; ++i) {
          sum += Exp(beta * (double{x[at + i * step]} - double{largest}));
        }
        for (int64_t i = 0; i < count; ++i) {
          const double value =
              Exp(beta * (double{x[at + i * step]} - double{largest}));
          y[at + i * step] = static_cast<float>(value / sum);
        }
      });
}

}  // namespace

absl::Status Softmax(const v1::Softmax& op, const TensorView& input,
                     const MutableTensorView& output) {
  switch (output.type) {
    case v1::INT8:
      SoftmaxQuantized<int8_t>(op, input, output);
      break;
    case v1::UINT8:
      SoftmaxQuantized<uint8_t>(op, input, output);
      break;
    default:
      SoftmaxFloat(op, input, output);
  }
  return absl::OkStatus();
}

}  // namespace edgekiln::ops
