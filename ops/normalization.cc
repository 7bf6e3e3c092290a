#include <algorithm>
#include <cmath>

#include "ops/dot_output.h"
#include "ops/fixed_point.h"
#include "ops/kernels.h"
#include "ops/lines.h"
#include "ops/quantized_parameters.h"
#include "ops/real_math.h"
#include "ops/real_quantizer.h"

// Values divided by a size of their neighbours. In double, sums in ascending
// order, one rounding per result, but where TensorFlow Lite computes in fixed
// point.
namespace edgekiln::ops {
namespace {

template <typename T>
void LocalResponse(const v1::LocalResponseNormalization& op, const T* x, T* y,
                   absl::Span<const int64_t> shape) {
  const int64_t before = (int64_t{op.size()} - 1) / 2;
  const int64_t after = op.size() - 1 - before;
  const double factor = double{op.alpha()} / op.size();
  ForEachLine(shape, op.axis(), [&](int64_t at, int64_t count, int64_t step) {
    for (int64_t i = 0; i < count; ++i) {
      const int64_t first = std::max<int64_t>(0, i - before);
      const int64_t last = std::min(count - 1, i + after);
      double sum = 0;
      for (int64_t k = first; k <= last; ++k) {
        const double value = x[at + k * step];
        sum += value * value;
      }
      const double size =
          Pow(double{op.bias()} + factor * sum, double{op.beta()});
      y[at + i * step] = static_cast<T>(double{x[at + i * step]} / size);
    }
  });
}

// `scale` and `bias` may be null.
template <typename T>
void Layer(const v1::LayerNormalization& op, const T* x, const T* scale,
           const T* bias, T* y, absl::Span<const int64_t> shape) {
  const int64_t count = NumElements(shape.subspan(op.axis()));
  const int64_t rows = NumElements(shape.first(op.axis()));
  const auto divisor = static_cast<double>(count);
  for (int64_t r = 0; r < rows; ++r, x += count, y += count) {
    double sum = 0;
    for (int64_t i = 0; i < count; ++i) sum += double{x[i]};
    const double mean = sum / divisor;
    double squares = 0;
    for (int64_t i = 0; i < count; ++i) {
      const double d = double{x[i]} - mean;
      squares += d * d;
    }
    const double deviation =
        std::sqrt(squares / divisor + double{op.epsilon()});
    for (int64_t i = 0; i < count; ++i) {
      double value = (double{x[i]} - mean) / deviation;
      if (scale != nullptr) value *= double{scale[i]};
      if (bias != nullptr) value += double{bias[i]};
      y[i] = static_cast<T>(value);
    }
  }
}

template <typename T>
void L2(const v1::L2Normalization& op, const T* x, T* y,
        absl::Span<const int64_t> shape) {
  ForEachLine(shape, op.axis(), [&](int64_t at, int64_t count, int64_t step) {
    double sum = 0;
    for (int64_t i = 0; i < count; ++i) {
      const double value = x[at + i * step];
      sum += value * value;
    }
    const double size = std::max(std::sqrt(sum), double{op.epsilon()});
    for (int64_t i = 0; i < count; ++i) {
      y[at + i * step] = static_cast<T>(double{x[at + i * step]} / size);
    }
  });
}

// Of `count` values that lie `step` apart.
template <typename T>
int64_t SumOfSquares(const T* x, int32_t zero_point, int64_t count,
                     int64_t step) {
  int64_t sum = 0;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t value = x[i * step] - zero_point;
    sum += value * value;
  }
  return sum;
}

// Longer lines might not sum up within int32.
constexpr int64_t kMaxFixedLine = 33025;

// Whether TensorFlow Lite has it: results in [-1, 1) in steps of 1/128.
bool IsFixedL2(const MutableTensorView& output, int axis) {
  return output.quantization.scale[0] == 1.0f / 128 &&
         output.quantization.zero_point[0] ==
             (output.type == v1::UINT8 ? 128 : 0) &&
         output.shape[axis] <= kMaxFixedLine;
}

template <typename T>
void L2Fixed(const v1::L2Normalization& op, const TensorView& input,
             const MutableTensorView& output) {
  const int32_t zero_point = input.quantization.zero_point[0];
  const QuantizedRange range = RangeOf(output.type);
  const T* x = input.as<T>();
  T* y = output.as<T>();
  ForEachLine(
      output.shape, op.axis(), [&](int64_t at, int64_t count, int64_t step) {
        FixedPointMultiplier factor = FixedInverseSqrt(static_cast<int32_t>(
            SumOfSquares(x + at, zero_point, count, step)));
        factor.shift += 7;
        for (int64_t i = 0; i < count; ++i) {
          y[at + i * step] =
              static_cast<T>(Finish(x[at + i * step] - zero_point, factor,
                                    output.quantization.zero_point[0], range));
        }
      });
}

template <typename T>
void L2Quantized(const v1::L2Normalization& op, const TensorView& input,
                 const MutableTensorView& output) {
  if constexpr (sizeof(T) == 1) {
    if (IsFixedL2(output, op.axis())) return L2Fixed<T>(op, input, output);
  }
  const double scale = input.quantization.scale[0];
  const int32_t zero_point = input.quantization.zero_point[0];
  const RealQuantizer<T> quantize(output);
  const T* x = input.as<T>();
  T* y = output.as<T>();
  ForEachLine(
      output.shape, op.axis(), [&](int64_t at, int64_t count, int64_t step) {
        const auto sum =
            static_cast<double>(SumOfSquares(x + at, zero_point, count, step));
        const double size =
            std::max(scale * std::sqrt(sum), double{op.epsilon()});
        for (int64_t i = 0; i < count; ++i) {
          const double value = scale * (x[at + i * step] - zero_point);
          y[at + i * step] = quantize(value / size);
        }
      });
}

}  // namespace

absl::Status LocalResponseNormalization(
    const v1::LocalResponseNormalization& op, const TensorView& input,
    const MutableTensorView& output) {
  if (output.type == v1::FLOAT64) {
    LocalResponse(op, input.as<double>(), output.as<double>(), output.shape);
  } else {
    LocalResponse(op, input.as<float>(), output.as<float>(), output.shape);
  }
  return absl::OkStatus();
}

absl::Status LayerNormalization(const v1::LayerNormalization& op, Inputs inputs,
                                const MutableTensorView& output) {
  const TensorView scale = InputOr(inputs, 1);
  const TensorView bias = InputOr(inputs, 2);
  if (output.type == v1::FLOAT64) {
    Layer(op, inputs[0].as<double>(), scale.as<double>(), bias.as<double>(),
          output.as<double>(), output.shape);
  } else {
    Layer(op, inputs[0].as<float>(), scale.as<float>(), bias.as<float>(),
          output.as<float>(), output.shape);
  }
  return absl::OkStatus();
}

absl::Status L2Normalization(const v1::L2Normalization& op,
                             const TensorView& input,
                             const MutableTensorView& output) {
  switch (output.type) {
    case v1::FLOAT64:
      L2(op, input.as<double>(), output.as<double>(), output.shape);
      break;
    case v1::INT8:
      L2Quantized<int8_t>(op, input, output);
      break;
    case v1::UINT8:
      L2Quantized<uint8_t>(op, input, output);
      break;
    case v1::INT16:
      L2Quantized<int16_t>(op, input, output);
      break;
    default:
      L2(op, input.as<float>(), output.as<float>(), output.shape);
  }
  return absl::OkStatus();
}

}  // namespace edgekiln::ops
