#include <algorithm>
#include <type_traits>
#include <vector>

#include "base/status_macros.h"
#include "ops/dot_output.h"
#include "ops/kernels.h"
#include "ops/quantized_parameters.h"

// Depthwise convolution: all channels of one output pixel side by side, window
// positions ascending (kh, kw); positions in the padding are left out.
namespace edgekiln::ops {
namespace {

// sum[c * m + i] += x[c] * w[c * m + i], x and w less their zero points.
template <typename T, typename Sum>
void AddProducts(const T* x, Sum x_zero, const T* w, Sum w_zero,
                 int64_t channels, int64_t multiplier, Sum* sum) {
  // Integers are multiplied as int16, which they fit and which every machine
  // multiplies several at a time.
  using Factor = std::conditional_t<std::is_same_v<T, float>, float, int16_t>;
  const auto x_offset = static_cast<Factor>(x_zero);
  const auto w_offset = static_cast<Factor>(w_zero);
  if (multiplier == 1) {
    for (int64_t c = 0; c < channels; ++c) {
      const auto a = static_cast<Factor>(x[c] - x_offset);
      const auto b = static_cast<Factor>(w[c] - w_offset);
      sum[c] += a * b;
    }
    return;
  }
  for (int64_t c = 0; c < channels; ++c) {
    const auto a = static_cast<Factor>(x[c] - x_offset);
    for (int64_t i = 0; i < multiplier; ++i) {
      const auto b = static_cast<Factor>(w[c * multiplier + i] - w_offset);
      sum[c * multiplier + i] += a * b;
    }
  }
}

// Calls `finish(pixel, sums)` for each output pixel.
template <typename T, typename Sum, typename Finish>
void ForEachPixel(const v1::DepthwiseConv2d& op, Inputs inputs,
                  absl::Span<const int64_t> out, Sum x_zero, Sum w_zero,
                  const Finish& finish) {
  const v1::Window2d& window = op.window();
  const auto x = inputs[0].shape;
  const auto w = inputs[1].shape;
  std::vector<Sum> sums(out[3]);
  for (int64_t pixel = 0; pixel < out[0] * out[1] * out[2]; ++pixel) {
    const int64_t image = pixel / (out[1] * out[2]);
    const int64_t top =
        pixel / out[2] % out[1] * window.stride_h() - window.pad_top();
    const int64_t left = pixel % out[2] * window.stride_w() - window.pad_left();
    std::fill(sums.begin(), sums.end(), Sum{0});
    for (int64_t kh = 0; kh < w[1]; ++kh) {
      const int64_t iy = top + kh * window.dilation_h();
      if (iy < 0 || iy >= x[1]) continue;
      for (int64_t kw = 0; kw < w[2]; ++kw) {
        const int64_t ix = left + kw * window.dilation_w();
        if (ix < 0 || ix >= x[2]) continue;
        AddProducts(
            inputs[0].as<T>() + ((image * x[1] + iy) * x[2] + ix) * x[3],
            x_zero, inputs[1].as<T>() + (kh * w[2] + kw) * w[3], w_zero, x[3],
            op.depth_multiplier(), sums.data());
      }
    }
    finish(pixel, sums.data());
  }
}

template <typename T>
absl::Status DepthwiseQuantized(const v1::DepthwiseConv2d& op, Inputs inputs,
                                const MutableTensorView& output) {
  const int64_t channels = output.shape[3];
  EK_ASSIGN_OR_RETURN(
      const QuantizedDotParameters parameters,
      DotParameters(op.clamp(), inputs[0].quantization, inputs[1].quantization,
                    output.quantization, output.type, channels));
  const int32_t* bias = InputOr(inputs, 2).as<int32_t>();
  ForEachPixel<T, int32_t>(
      op, inputs, output.shape, parameters.input_zero_point,
      parameters.weight_zero_point, [&](int64_t pixel, const int32_t* sums) {
        FinishRows(sums, 1, parameters, bias,
                   output.as<T>() + pixel * channels);
      });
  return absl::OkStatus();
}

}  // namespace

absl::Status DepthwiseConv2d(const v1::DepthwiseConv2d& op, Inputs inputs,
                             const MutableTensorView& output) {
  if (output.type == v1::INT8) {
    return DepthwiseQuantized<int8_t>(op, inputs, output);
  }
  if (output.type == v1::UINT8) {
    return DepthwiseQuantized<uint8_t>(op, inputs, output);
  }
  const int64_t channels = output.shape[3];
  const float* bias = InputOr(inputs, 2).as<float>();
  const FloatRange range = FloatRangeOf(op.clamp());
  ForEachPixel<float, float>(
      op, inputs, output.shape, 0.0f, 0.0f, [&](int64_t pixel, float* sums) {
        FinishRows(sums, 1, channels, bias, range);
        std::copy_n(sums, channels, output.as<float>() + pixel * channels);
      });
  return absl::OkStatus();
}

}  // namespace edgekiln::ops
