#include <algorithm>
#include <vector>

#include "ops/dot_output.h"
#include "ops/kernels.h"
#include "ops/quantized_parameters.h"

// Pooling: all channels of one output pixel side by side, window positions
// ascending (kh, kw).
namespace edgekiln::ops {
namespace {

// Calls visit(pixel, channels of the input pixel) for every window position
// inside the input, then finish(pixel, number of positions).
template <typename T, typename Pool, typename Visit, typename Finish>
void ForEachWindow(const Pool& op, const TensorView& input,
                   absl::Span<const int64_t> out, const Visit& visit,
                   const Finish& finish) {
  const v1::Window2d& window = op.window();
  const auto x = input.shape;
  for (int64_t pixel = 0; pixel < out[0] * out[1] * out[2]; ++pixel) {
    const int64_t image = pixel / (out[1] * out[2]);
    const int64_t top =
        pixel / out[2] % out[1] * window.stride_h() - window.pad_top();
    const int64_t left = pixel % out[2] * window.stride_w() - window.pad_left();
    const int64_t y_begin = std::max<int64_t>(0, top);
    const int64_t y_end = std::min(x[1], top + op.kernel_h());
    const int64_t x_begin = std::max<int64_t>(0, left);
    const int64_t x_end = std::min(x[2], left + op.kernel_w());
    for (int64_t iy = y_begin; iy < y_end; ++iy) {
      for (int64_t ix = x_begin; ix < x_end; ++ix) {
        visit(input.as<T>() + ((image * x[1] + iy) * x[2] + ix) * x[3]);
      }
    }
    finish(pixel, (y_end - y_begin) * (x_end - x_begin));
  }
}

template <typename T>
void AverageQuantized(const v1::AveragePool2d& op, const TensorView& input,
                      const MutableTensorView& output) {
  const int64_t channels = output.shape[3];
  const QuantizedRange range =
      ClampRange(op.clamp(), output.quantization, output.type);
  const int32_t zero_point = input.quantization.zero_point[0];
  const int64_t all = int64_t{op.kernel_h()} * op.kernel_w();
  std::vector<int32_t> sums(channels, 0);
  ForEachWindow<T>(
      op, input, output.shape,
      [&](const T* x) {
        for (int64_t c = 0; c < channels; ++c) sums[c] += x[c];
      },
      [&](int64_t pixel, int64_t count) {
        const int64_t counted = op.count_include_pad() ? all : count;
        const auto padded = static_cast<int32_t>(counted - count);
        T* out = output.as<T>() + pixel * channels;
        for (int64_t c = 0; c < channels; ++c) {
          const int32_t mean = RoundedAverage(sums[c] + padded * zero_point,
                                              static_cast<int32_t>(counted));
          out[c] = static_cast<T>(std::clamp(mean, range.min, range.max));
          sums[c] = 0;
        }
      });
}

void AverageFloat(const v1::AveragePool2d& op, const TensorView& input,
                  const MutableTensorView& output) {
  const int64_t channels = output.shape[3];
  const FloatRange range = FloatRangeOf(op.clamp());
  const int64_t all = int64_t{op.kernel_h()} * op.kernel_w();
  std::vector<double> sums(channels, 0);
  ForEachWindow<float>(
      op, input, output.shape,
      [&](const float* x) {
        for (int64_t c = 0; c < channels; ++c) sums[c] += double{x[c]};
      },
      [&](int64_t pixel, int64_t count) {
        const auto counted =
            static_cast<double>(op.count_include_pad() ? all : count);
        float* out = output.as<float>() + pixel * channels;
        for (int64_t c = 0; c < channels; ++c) {
          out[c] = range.Apply(static_cast<float>(sums[c] / counted));
          sums[c] = 0;
        }
      });
}

// `Range` limits the maximum: FloatRange::Apply or a clamp of integers.
template <typename T, typename Limit>
void Maximum(const v1::MaxPool2d& op, const TensorView& input,
             const MutableTensorView& output, T lowest, const Limit& limit) {
  const int64_t channels = output.shape[3];
  std::vector<T> best(channels, lowest);
  ForEachWindow<T>(
      op, input, output.shape,
      [&](const T* x) {
        for (int64_t c = 0; c < channels; ++c) {
          best[c] = best[c] < x[c] ? x[c] : best[c];
        }
      },
      [&](int64_t pixel, int64_t) {
        T* out = output.as<T>() + pixel * channels;
        for (int64_t c = 0; c < channels; ++c) {
          out[c] = limit(best[c]);
          best[c] = lowest;
        }
      });
}

template <typename T>
void MaximumQuantized(const v1::MaxPool2d& op, const TensorView& input,
                      const MutableTensorView& output) {
  const QuantizedRange range =
      ClampRange(op.clamp(), output.quantization, output.type);
  Maximum<T>(op, input, output, std::numeric_limits<T>::min(), [&](T value) {
    return static_cast<T>(std::clamp<int32_t>(value, range.min, range.max));
  });
}

}  // namespace

absl::Status AveragePool2d(const v1::AveragePool2d& op, const TensorView& input,
                           const MutableTensorView& output) {
  switch (output.type) {
    case v1::INT8:
      AverageQuantized<int8_t>(op, input, output);
      break;
    case v1::UINT8:
      AverageQuantized<uint8_t>(op, input, output);
      break;
    default:
      AverageFloat(op, input, output);
  }
  return absl::OkStatus();
}

absl::Status MaxPool2d(const v1::MaxPool2d& op, const TensorView& input,
                       const MutableTensorView& output) {
  switch (output.type) {
    case v1::INT8:
      MaximumQuantized<int8_t>(op, input, output);
      break;
    case v1::UINT8:
      MaximumQuantized<uint8_t>(op, input, output);
      break;
    default: {
      const FloatRange range = FloatRangeOf(op.clamp());
      Maximum<float>(op, input, output, -std::numeric_limits<float>::infinity(),
                     [&](float value) { return range.Apply(value); });
    }
  }
  return absl::OkStatus();
}

}  // namespace edgekiln::ops
