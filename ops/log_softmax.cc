#include <algorithm>
#include <cmath>

#include "ops/exp.h"
#include "ops/exp_table.h"
#include "ops/kernels.h"
#include "ops/lines.h"
#include "ops/quantized_parameters.h"
#include "ops/real_math.h"
#include "ops/real_quantizer.h"

namespace edgekiln::ops {
namespace {

template <typename T>
void LogSoftmaxReal(const v1::LogSoftmax& op, const TensorView& input,
                    const MutableTensorView& output) {
  const T* x = input.as<T>();
  T* y = output.as<T>();
  ForEachLine(
      output.shape, op.axis(), [&](int64_t at, int64_t count, int64_t step) {
        double largest = x[at];
        for (int64_t i = 1; i < count; ++i) {
          largest = std::max(largest, double{x[at + i * step]});
        }
        double sum = 0;
        for (int64_t i = 0; i < count; ++i) {
          sum += Exp(double{x[at + i * step]} - largest);
        }
        const double log = Log(sum);
        for (int64_t i = 0; i < count; ++i) {
          y[at + i * step] =
              static_cast<T>((double{x[at + i * step]} - largest) - log);
        }
      });
}

// 8 bits in float, as TensorFlow Lite.
template <typename T>
void LogSoftmaxTabulated(const v1::LogSoftmax& op, const TensorView& input,
                         const MutableTensorView& output) {
  const float from = input.quantization.scale[0];
  const float to = output.quantization.scale[0];
  const double zero = output.quantization.zero_point[0];
  const QuantizedRange range = RangeOf(output.type);
  const ExpTable table(1, from);
  const float scale = from / to;
  const T* x = input.as<T>();
  T* y = output.as<T>();
  ForEachLine(
      output.shape, op.axis(), [&](int64_t at, int64_t count, int64_t step) {
        const auto [largest, sum] = table.SumOf(x + at, count, step);
        const auto log = static_cast<float>(Log(double{sum}));
        const float whole = (from * static_cast<float>(largest) + log) / to;
        for (int64_t i = 0; i < count; ++i) {
          const float steps =
              scale * static_cast<float>(x[at + i * step]) - whole;
          y[at + i * step] =
              static_cast<T>(Limited(std::nearbyint(steps) + zero, range));
        }
      });
}

void LogSoftmaxInt16(const v1::LogSoftmax& op, const TensorView& input,
                     const MutableTensorView& output) {
  const double scale = input.quantization.scale[0];
  const RealQuantizer<int16_t> quantize(output);
  const auto* x = input.as<int16_t>();
  auto* y = output.as<int16_t>();
  ForEachLine(output.shape, op.axis(),
              [&](int64_t at, int64_t count, int64_t step) {
                int16_t largest = x[at];
                for (int64_t i = 1; i < count; ++i) {
                  largest = std::max(largest, x[at + i * step]);
                }
                double sum = 0;
                for (int64_t i = 0; i < count; ++i) {
                  sum += Exp(scale * (x[at + i * step] - largest));
                }
                const double log = Log(sum);
                for (int64_t i = 0; i < count; ++i) {
                  y[at + i * step] =
                      quantize(scale * (x[at + i * step] - largest) - log);
                }
              });
}

}  // namespace

absl::Status LogSoftmax(const v1::LogSoftmax& op, const TensorView& input,
                        const MutableTensorView& output) {
  switch (output.type) {
    case v1::FLOAT64:
      LogSoftmaxReal<double>(op, input, output);
      break;
    case v1::INT8:
      LogSoftmaxTabulated<int8_t>(op, input, output);
      break;
    case v1::UINT8:
      LogSoftmaxTabulated<uint8_t>(op, input, output);
      break;
    case v1::INT16:
      LogSoftmaxInt16(op, input, output);
      break;
    default:
      LogSoftmaxReal<float>(op, input, output);
  }
  return absl::OkStatus();
}

}  // namespace edgekiln::ops
