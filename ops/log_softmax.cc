#include <algorithm>

#include "ops/exp.h"
#include "ops/kernels.h"
#include "ops/lines.h"
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

template <typename T>
void LogSoftmaxQuantized(const v1::LogSoftmax& op, const TensorView& input,
                         const MutableTensorView& output) {
  const double scale = input.quantization.scale[0];
  const RealQuantizer<T> quantize(output);
  const T* x = input.as<T>();
  T* y = output.as<T>();
  ForEachLine(output.shape, op.axis(),
              [&](int64_t at, int64_t count, int64_t step) {
                T largest = x[at];
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
      LogSoftmaxQuantized<int8_t>(op, input, output);
      break;
    case v1::UINT8:
      LogSoftmaxQuantized<uint8_t>(op, input, output);
      break;
    case v1::INT16:
      LogSoftmaxQuantized<int16_t>(op, input, output);
      break;
    default:
      LogSoftmaxReal<float>(op, input, output);
  }
  return absl::OkStatus();
}

}  // namespace edgekiln::ops
