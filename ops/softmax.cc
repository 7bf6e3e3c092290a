#include <algorithm>
#include <array>
#include <vector>

#include "ops/exp.h"
#include "ops/kernels.h"
#include "ops/lines.h"
#include "ops/quantized_parameters.h"
#include "ops/real_quantizer.h"

namespace edgekiln::ops {
namespace {

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

// 16 bits: no table, everything in double.
void SoftmaxInt16(const v1::Softmax& op, const TensorView& input,
                  const MutableTensorView& output) {
  const double unit = double{input.quantization.scale[0]} * double{op.beta()};
  const RealQuantizer<int16_t> quantize(output);
  const auto* x = input.as<int16_t>();
  auto* y = output.as<int16_t>();
  std::vector<double> power(output.shape[op.axis()]);
  ForEachLine(output.shape, op.axis(),
              [&](int64_t at, int64_t count, int64_t step) {
                int16_t largest = x[at];
                for (int64_t i = 0; i < count; ++i) {
                  largest = std::max(largest, x[at + i * step]);
                }
                double sum = 0;
                for (int64_t i = 0; i < count; ++i) {
                  power[i] = Exp(unit * (x[at + i * step] - largest));
                  sum += power[i];
                }
                for (int64_t i = 0; i < count; ++i) {
                  y[at + i * step] = quantize(power[i] / sum);
                }
              });
}

template <typename T>
void SoftmaxReal(const v1::Softmax& op, const TensorView& input,
                 const MutableTensorView& output) {
  const T* x = input.as<T>();
  T* y = output.as<T>();
  const double beta = op.beta();
  std::vector<double> power(output.shape[op.axis()]);
  ForEachLine(
      output.shape, op.axis(), [&](int64_t at, int64_t count, int64_t step) {
        T largest = x[at];
        for (int64_t i = 0; i < count; ++i) {
          largest = std::max(largest, x[at + i * step]);
        }
        double sum = 0;
        for (int64_t i = 0; i < count; ++i) {
          power[i] = Exp(beta * (double{x[at + i * step]} - double{largest}));
          sum += power[i];
        }
        for (int64_t i = 0; i < count; ++i) {
          y[at + i * step] = static_cast<T>(power[i] / sum);
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
    case v1::INT16:
      SoftmaxInt16(op, input, output);
      break;
    case v1::FLOAT64:
      SoftmaxReal<double>(op, input, output);
      break;
    default:
      SoftmaxReal<float>(op, input, output);
  }
  return absl::OkStatus();
}

}  // namespace edgekiln::ops
