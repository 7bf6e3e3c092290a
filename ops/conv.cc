#include <algorithm>
#include <cstring>
#include <vector>

#include "base/status_macros.h"
#include "ops/dot_output.h"
#include "ops/gemm.h"
#include "ops/kernels.h"
#include "ops/quantized_parameters.h"

// Convolution as a matrix product: the window of each output pixel becomes a
// row (kh, kw, c ascending), the weights of each output channel a column.
// Padding takes part as zeros.
namespace edgekiln::ops {
namespace {

struct ConvGeometry {
  ConvGeometry(const v1::Window2d& w, absl::Span<const int64_t> x,
               absl::Span<const int64_t> weights, absl::Span<const int64_t> out)
      : window(w),
        in_h(x[1]),
        in_w(x[2]),
        in_c(x[3]),
        kernel_h(weights[1]),
        kernel_w(weights[2]),
        out_h(out[1]),
        out_w(out[2]),
        out_c(out[3]),
        pixels(out[0] * out[1] * out[2]),
        depth(kernel_h * kernel_w * in_c) {}

  const v1::Window2d& window;
  int64_t in_h, in_w, in_c;
  int64_t kernel_h, kernel_w;
  int64_t out_h, out_w, out_c;
  int64_t pixels;  // Of all images of the batch.
  int64_t depth;
};

// Steps k in [begin, end) of a window of `size` steps for which
// first + k * dilation lies in [0, extent).
struct Steps {
  Steps(int64_t first, int64_t dilation, int64_t size, int64_t extent)
      : begin(first >= 0 ? 0
                         : std::min(size, (dilation - 1 - first) / dilation)),
        end(first >= extent ? begin
                            : std::clamp((extent - 1 - first) / dilation + 1,
                                         begin, size)) {}
  int64_t begin;
  int64_t end;
};

// Writes the window of output pixel `pixel` to `row`, each value minus
// `zero_point`.
template <typename From, typename To>
void GatherWindow(const ConvGeometry& g, int64_t pixel, const From* x,
                  To zero_point, To* row) {
  const int64_t image = pixel / (g.out_h * g.out_w);
  const int64_t oy = pixel / g.out_w % g.out_h;
  const int64_t ox = pixel % g.out_w;
  const From* from_image = x + image * g.in_h * g.in_w * g.in_c;
  const int64_t dilation_w = g.window.dilation_w();
  const int64_t left = ox * g.window.stride_w() - g.window.pad_left();
  const Steps inside(left, dilation_w, g.kernel_w, g.in_w);
  // Neighbours in the window are neighbours in memory without dilation.
  const int64_t run = dilation_w == 1 ? inside.end - inside.begin : 1;
  for (int64_t kh = 0; kh < g.kernel_h; ++kh, row += g.kernel_w * g.in_c) {
    const int64_t y = oy * g.window.stride_h() - g.window.pad_top() +
                      kh * g.window.dilation_h();
    if (y < 0 || y >= g.in_h || inside.begin == inside.end) {
      std::fill_n(row, g.kernel_w * g.in_c, To{0});
      continue;
    }
    std::fill_n(row, inside.begin * g.in_c, To{0});
    for (int64_t kw = inside.begin; kw < inside.end; kw += run) {
      const From* from =
          from_image + (y * g.in_w + left + kw * dilation_w) * g.in_c;
      To* to = row + kw * g.in_c;
      for (int64_t i = 0; i < run * g.in_c; ++i) {
        to[i] = static_cast<To>(from[i] - zero_point);
      }
    }
    std::fill_n(row + inside.end * g.in_c, (g.kernel_w - inside.end) * g.in_c,
                To{0});
  }
}

void ConvFloat(const ConvGeometry& g, Inputs inputs, FloatRange range,
               float* out, CpuPath path) {
  const PackedFloat weights(inputs[1].as<float>(), g.depth, g.out_c, 1,
                            g.depth);
  const int64_t step = RowsPerStep(g.pixels, g.depth, g.out_c);
  std::vector<float> patches(step * g.depth);
  for (int64_t first = 0; first < g.pixels; first += step) {
    const int64_t rows = std::min(step, g.pixels - first);
    for (int64_t r = 0; r < rows; ++r) {
      GatherWindow(g, first + r, inputs[0].as<float>(), 0.0f,
                   patches.data() + r * g.depth);
    }
    float* to = out + first * g.out_c;
    Multiply(path, rows, patches.data(), weights, to);
    FinishRows(to, rows, g.out_c, InputOr(inputs, 2).as<float>(), range);
  }
}

template <typename T>
absl::Status ConvQuantized(const ConvGeometry& g, const v1::Clamp& clamp,
                           Inputs inputs, const MutableTensorView& output,
                           CpuPath path) {
  EK_ASSIGN_OR_RETURN(
      const QuantizedDotParameters parameters,
      DotParameters(clamp, inputs[0].quantization, inputs[1].quantization,
                    output.quantization, output.type, g.out_c));
  const PackedInt16 weights(inputs[1].as<T>(), g.depth, g.out_c, 1, g.depth,
                            parameters.weight_zero_point);
  const int64_t stride = weights.padded_depth();
  const int64_t step = RowsPerStep(g.pixels, g.depth, g.out_c);
  std::vector<int16_t> patches(step * stride, 0);
  std::vector<int32_t> sums(step * g.out_c);
  for (int64_t first = 0; first < g.pixels; first += step) {
    const int64_t rows = std::min(step, g.pixels - first);
    for (int64_t r = 0; r < rows; ++r) {
      GatherWindow(g, first + r, inputs[0].as<T>(),
                   static_cast<int16_t>(parameters.input_zero_point),
                   patches.data() + r * stride);
    }
    Multiply(path, rows, patches.data(), weights, sums.data());
    FinishRows(sums.data(), rows, parameters, InputOr(inputs, 2).as<int32_t>(),
               output.as<T>() + first * g.out_c);
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status Conv2d(const v1::Conv2d& op, Inputs inputs,
                    const MutableTensorView& output, CpuPath path) {
  const ConvGeometry geometry(op.window(), inputs[0].shape, inputs[1].shape,
                              output.shape);
  switch (output.type) {
    case v1::INT8:
      return ConvQuantized<int8_t>(geometry, op.clamp(), inputs, output, path);
    case v1::UINT8:
      return ConvQuantized<uint8_t>(geometry, op.clamp(), inputs, output, path);
    default:
      ConvFloat(geometry, inputs, FloatRangeOf(op.clamp()), output.as<float>(),
                path);
      return absl::OkStatus();
  }
}

}  // namespace edgekiln::ops
