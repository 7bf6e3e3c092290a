#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "ops/exp.h"
#include "ops/exp_table.h"
#include "ops/fixed_point.h"
#include "ops/interpolated_table.h"
#include "ops/kernels.h"
#include "ops/lines.h"
#include "ops/quantized_parameters.h"
#include "ops/real_quantizer.h"

namespace edgekiln::ops {
namespace {

template <typename T>
void SoftmaxQuantized(const v1::Softmax& op, const TensorView& input,
                      const MutableTensorView& output) {
  const ExpTable table(op.beta(), input.quantization.scale[0]);
  const QuantizedRange range = RangeOf(output.type);
  const float output_scale = output.quantization.scale[0];
  const double zero_point = output.quantization.zero_point[0];
  const T* x = input.as<T>();
  T* y = output.as<T>();
  ForEachLine(
      output.shape, op.axis(), [&](int64_t at, int64_t count, int64_t step) {
        const auto [largest, sum] = table.SumOf(x + at, count, step);
        const float factor = 1.0f / (sum * output_scale);
        for (int64_t i = 0; i < count; ++i) {
          const float steps = table[largest - x[at + i * step]] * factor;
          y[at + i * step] = static_cast<T>(
              Limited(std::trunc(steps + 0.5f) + zero_point, range));
        }
      });
}

// The longest line whose sum of powers stays within int32.
constexpr int64_t kMaxTabulated = 65536;

bool IsTabulated(const TensorView& input, const MutableTensorView& output,
                 int axis) {
  constexpr float kStep = 1.0f / 32768;
  return input.quantization.zero_point[0] == 0 &&
         output.quantization.zero_point[0] == 0 &&
         std::fabs(output.quantization.scale[0] - kStep) <= 0.001f * kStep &&
         output.shape[axis] <= kMaxTabulated;
}

// 16 bits as TensorFlow Lite: powers and the reciprocal of their sum from
// tables, in steps of 2^-15.
class TabulatedSoftmax {
 public:
  explicit TabulatedSoftmax(float scale)
      : factor_(QuantizeMultiplier(double{scale} / (10.0 / 65535.0))),
        power_(Steps{10.0 / 65535, 32767, 2.0 / 65535, 0}, Exp),
        reciprocal_(Steps{1.0 / 65535, -32768, 2.0 / 65535, 0},
                    [](double x) { return 1.0 / (1.0 + x); }) {}

  void operator()(const int16_t* x, int16_t* y, int64_t count,
                  int64_t step) const {
    int32_t largest = x[0];
    for (int64_t i = 1; i < count; ++i) {
      largest = std::max<int32_t>(largest, x[i * step]);
    }
    uint32_t sum = 0;
    for (int64_t i = 0; i < count; ++i) {
      // [-10, 0] in 65535 steps, as int16; further below, whatever the scale.
      const int64_t below = int64_t{x[i * step] - largest} * factor_.multiplier;
      const int64_t place =
          RoundProduct(below, 31 - factor_.shift, v1::HALF_UP) + 32767;
      y[i * step] = power_(SaturatedTo<int16_t>(place));
      sum += static_cast<uint32_t>(y[i * step]);
    }
    const int zeros = std::countl_zero(sum);
    // The sum in [1, 2) in steps of 2^-16, then from [0, 1) to int16.
    const int64_t unit =
        ((static_cast<int64_t>(sum) << (zeros - 1)) + (1 << 13)) >> 14;
    const int64_t over =
        reciprocal_(SaturatedTo<int16_t>(unit - (1 << 15) - (1 << 16)));
    const int right = 31 - zeros;
    for (int64_t i = 0; i < count; ++i) {
      const int64_t product = y[i * step] * over;
      const int64_t result = (product + (int64_t{1} << (right - 1))) >> right;
      y[i * step] = static_cast<int16_t>(std::clamp<int64_t>(result, 0, 32767));
    }
  }

 private:
  using Steps = InterpolatedTable::Steps<double>;

  const FixedPointMultiplier factor_;
  const InterpolatedTable power_;
  const InterpolatedTable reciprocal_;
};

// In double, each result rounded.
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

void SoftmaxTabulated(const v1::Softmax& op, const TensorView& input,
                      const MutableTensorView& output) {
  const TabulatedSoftmax softmax(input.quantization.scale[0] * op.beta());
  const auto* x = input.as<int16_t>();
  auto* y = output.as<int16_t>();
  ForEachLine(output.shape, op.axis(),
              [&](int64_t at, int64_t count, int64_t step) {
                softmax(x + at, y + at, count, step);
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
      if (IsTabulated(input, output, op.axis())) {
        SoftmaxTabulated(op, input, output);
      } else {
        SoftmaxInt16(op, input, output);
      }
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
