#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/frontend/tflite/converters.h"
#include "ops/shape_inference.h"

// Convolutions, pools, fully connected and matrix products. Paddings become
// explicit.
namespace edgekiln::compiler::tflite_import {
namespace {

// Larger windows, strides and dilations are damage, and would overflow.
constexpr int64_t kMaxWindowParameter = 1 << 16;

absl::Status CheckWindowParameter(int64_t value, absl::string_view name) {
  if (value >= 1 && value <= kMaxWindowParameter) return absl::OkStatus();
  return TfliteBroken(absl::StrCat(std::string(name), " ", value), "",
                      absl::StrCat("1 to ", kMaxWindowParameter));
}

absl::StatusOr<bool> IsSame(tflite::Padding padding) {
  if (padding == tflite::Padding::SAME) return true;
  if (padding == tflite::Padding::VALID) return false;
  return TfliteBroken("unknown padding", "", "SAME or VALID");
}

template <typename Options>
absl::Status SetStridesAndDilations(const Options& options,
                                    v1::Window2d& window) {
  if constexpr (requires { options.dilation_h_factor(); }) {
    window.set_dilation_h(options.dilation_h_factor());
    window.set_dilation_w(options.dilation_w_factor());
  } else {
    window.set_dilation_h(1);
    window.set_dilation_w(1);
  }
  window.set_stride_h(options.stride_h());
  window.set_stride_w(options.stride_w());
  for (const int64_t value : {window.stride_h(), window.stride_w(),
                              window.dilation_h(), window.dilation_w()}) {
    EK_RETURN_IF_ERROR(CheckWindowParameter(value, "stride or dilation"));
  }
  return absl::OkStatus();
}

// Strides, dilations and explicit paddings of a window on `x` (NHWC).
template <typename Options>
absl::Status SetWindow(const Options& options, const Shape& x, int64_t kernel_h,
                       int64_t kernel_w, v1::Window2d& window) {
  EK_RETURN_IF_ERROR(SetStridesAndDilations(options, window));
  EK_RETURN_IF_ERROR(CheckWindowParameter(kernel_h, "window of height"));
  EK_RETURN_IF_ERROR(CheckWindowParameter(kernel_w, "window of width"));
  EK_ASSIGN_OR_RETURN(const bool same, IsSame(options.padding()));
  if (!same) return absl::OkStatus();
  const auto [top, bottom] =
      ops::SamePadding(x[1], kernel_h, window.stride_h(), window.dilation_h());
  const auto [left, right] =
      ops::SamePadding(x[2], kernel_w, window.stride_w(), window.dilation_w());
  window.set_pad_top(top);
  window.set_pad_bottom(bottom);
  window.set_pad_left(left);
  window.set_pad_right(right);
  return absl::OkStatus();
}

// Inputs 0 to 2 where the last, the bias, may be missing.
absl::StatusOr<std::vector<TensorId>> WithBias(const Conversion& c, size_t x) {
  EK_ASSIGN_OR_RETURN(const TensorId data, c.Input(x));
  EK_ASSIGN_OR_RETURN(const TensorId weights, c.Input(1));
  const size_t bias = x == 0 ? 2 : 3;
  std::vector<TensorId> inputs = {data, weights};
  if (bias < c.num_inputs()) inputs.push_back(c.OptionalInput(bias));
  return inputs;
}

// How a transposed convolution gets from `in` elements to the stated number.
struct TransposedAxis {
  int64_t before = 0;
  int64_t after = 0;
  int64_t output_pad = 0;
};

absl::StatusOr<TransposedAxis> FitTransposed(int64_t in, int64_t out,
                                             int64_t kernel, int64_t stride,
                                             bool same) {
  const int64_t full = (in - 1) * stride + kernel;
  const int64_t reverse =
      same ? (out + stride - 1) / stride : (out - kernel + stride) / stride;
  if (reverse != in || out < 1 || out > (int64_t{1} << 30)) {
    return TfliteBroken(
        absl::StrCat("output extent ", out, " of ", in, " input elements"), "",
        "what the forward convolution would reduce to it");
  }
  TransposedAxis axis;
  axis.before = same ? std::max<int64_t>(0, full - out) / 2 : 0;
  const int64_t rest = full - axis.before - out;
  axis.after = std::max<int64_t>(0, rest);
  axis.output_pad = std::max<int64_t>(0, -rest);
  return axis;
}

}  // namespace

absl::Status ConvertConv2d(Conversion& c) {
  const auto* options = c.from().builtin_options_as_Conv2DOptions();
  if (options == nullptr) return MissingOptions("Conv2DOptions");
  EK_RETURN_IF_ERROR(c.DequantizeWeights(0));
  EK_ASSIGN_OR_RETURN(const auto x, c.ShapeOfRank(0, 4));
  EK_ASSIGN_OR_RETURN(const auto w, c.ShapeOfRank(1, 4));
  v1::OpAttributes attributes;
  v1::Conv2d& conv = *attributes.mutable_conv2d();
  EK_RETURN_IF_ERROR(
      SetWindow(*options, x, w[1], w[2], *conv.mutable_window()));
  if (w[3] < 1 || x[3] < w[3] || x[3] % w[3] != 0 ||
      w[0] % (x[3] / w[3]) != 0) {
    return TfliteBroken(
        absl::StrCat("grouped convolution: ", x[3], " input channels, ", w[3],
                     " weight channels, ", w[0], " output channels"),
        "", "channels that divide into groups");
  }
  if (w[3] != x[3]) conv.set_groups(static_cast<int32_t>(x[3] / w[3]));
  EK_ASSIGN_OR_RETURN(auto inputs, WithBias(c, 0));
  return c.WriteActivated(std::move(attributes), std::move(inputs),
                          options->fused_activation_function());
}

absl::Status ConvertDepthwise(Conversion& c) {
  const auto* options = c.from().builtin_options_as_DepthwiseConv2DOptions();
  if (options == nullptr) return MissingOptions("DepthwiseConv2DOptions");
  EK_RETURN_IF_ERROR(c.DequantizeWeights(0));
  EK_ASSIGN_OR_RETURN(const auto x, c.ShapeOfRank(0, 4));
  EK_ASSIGN_OR_RETURN(const auto w, c.ShapeOfRank(1, 4));
  v1::OpAttributes attributes;
  v1::DepthwiseConv2d& conv = *attributes.mutable_depthwise_conv2d();
  EK_RETURN_IF_ERROR(
      SetWindow(*options, x, w[1], w[2], *conv.mutable_window()));
  // The shapes decide; the field of the same name is redundant.
  if (x[3] < 1 || w[3] % x[3] != 0 || w[3] / x[3] > kMaxWindowParameter) {
    return TfliteBroken(
        absl::StrCat(w[3], " weight channels for ", x[3], " input channels"),
        "", "a multiple of the input channels");
  }
  conv.set_depth_multiplier(static_cast<int32_t>(w[3] / x[3]));
  EK_ASSIGN_OR_RETURN(auto inputs, WithBias(c, 0));
  return c.WriteActivated(std::move(attributes), std::move(inputs),
                          options->fused_activation_function());
}

// Inputs: the output's shape, weights, x, bias.
absl::Status ConvertTransposeConv(Conversion& c) {
  const auto* options = c.from().builtin_options_as_TransposeConvOptions();
  if (options == nullptr) return MissingOptions("TransposeConvOptions");
  EK_RETURN_IF_ERROR(c.DequantizeWeights(2));
  EK_ASSIGN_OR_RETURN(const auto out, c.Ints(0));
  EK_ASSIGN_OR_RETURN(const auto w, c.ShapeOfRank(1, 4));
  EK_ASSIGN_OR_RETURN(const auto x, c.ShapeOfRank(2, 4));
  if (out.size() != 4 || out[3] != w[0]) {
    return TfliteBroken("output shape of a transposed convolution", "",
                        "4 extents, the last that of the weights' first");
  }
  v1::OpAttributes attributes;
  v1::TransposedConv& conv = *attributes.mutable_transposed_conv();
  v1::Window& window = *conv.mutable_window();
  EK_ASSIGN_OR_RETURN(const bool same, IsSame(options->padding()));
  for (int d = 1; d <= 2; ++d) {
    const int32_t stride = d == 1 ? options->stride_h() : options->stride_w();
    EK_RETURN_IF_ERROR(CheckWindowParameter(stride, "stride"));
    EK_RETURN_IF_ERROR(CheckWindowParameter(w[d], "window of extent"));
    EK_ASSIGN_OR_RETURN(const TransposedAxis axis,
                        FitTransposed(x[d], out[d], w[d], stride, same));
    window.add_stride(stride);
    window.add_dilation(1);
    window.add_pad_before(static_cast<int32_t>(axis.before));
    window.add_pad_after(static_cast<int32_t>(axis.after));
    conv.add_output_pad(static_cast<int32_t>(axis.output_pad));
  }
  EK_ASSIGN_OR_RETURN(auto inputs, WithBias(c, 2));
  return c.WriteActivated(std::move(attributes), std::move(inputs),
                          options->fused_activation_function());
}

absl::Status ConvertPool(Conversion& c) {
  const auto* options = c.from().builtin_options_as_Pool2DOptions();
  if (options == nullptr) return MissingOptions("Pool2DOptions");
  EK_ASSIGN_OR_RETURN(const auto shape, c.ShapeOfRank(0, 4));
  EK_ASSIGN_OR_RETURN(const TensorId x, c.Input(0));
  const auto set = [&](auto& pool) {
    pool.set_kernel_h(options->filter_height());
    pool.set_kernel_w(options->filter_width());
    return SetWindow(*options, shape, options->filter_height(),
                     options->filter_width(), *pool.mutable_window());
  };
  v1::OpAttributes attributes;
  const bool average = c.code() == tflite::BuiltinOperator::AVERAGE_POOL_2D;
  EK_RETURN_IF_ERROR(average ? set(*attributes.mutable_average_pool2d())
                             : set(*attributes.mutable_max_pool2d()));
  return c.WriteActivated(std::move(attributes), {x},
                          options->fused_activation_function());
}

absl::Status ConvertFullyConnected(Conversion& c) {
  const auto* options = c.from().builtin_options_as_FullyConnectedOptions();
  if (options == nullptr) return MissingOptions("FullyConnectedOptions");
  if (options->weights_format() != 0) {
    return TfliteUnsupported("shuffled fully connected weights", "",
                             "the default weights format",
                             "convert without weight shuffling");
  }
  EK_RETURN_IF_ERROR(c.DequantizeWeights(0));
  EK_ASSIGN_OR_RETURN(auto inputs, WithBias(c, 0));
  EK_ASSIGN_OR_RETURN(const auto w, c.ShapeOfRank(1, 2));
  const Shape x = c.shape(inputs[0]);
  const bool flat = !options->keep_num_dims() && x.size() != 2;
  if (flat || x.empty() || x.back() != w[1]) {
    // Without keep_num_dims all but the weights' extent is rows.
    int64_t elements = 1;
    for (const int64_t extent : x) elements *= extent;
    if (w[1] < 1 || elements % w[1] != 0) {
      return TfliteBroken(
          absl::StrCat("rows of ", w[1], " from ", elements, " elements"), "",
          "an input that divides into rows");
    }
    EK_ASSIGN_OR_RETURN(inputs[0],
                        c.Reshape("rows", inputs[0], {elements / w[1], w[1]}));
  }
  v1::OpAttributes attributes;
  attributes.mutable_fully_connected();
  return c.WriteActivated(std::move(attributes), std::move(inputs),
                          options->fused_activation_function());
}

absl::Status ConvertBatchMatMul(Conversion& c) {
  EK_RETURN_IF_ERROR(c.DequantizeWeights(0));
  const auto* options = c.from().builtin_options_as_BatchMatMulOptions();
  std::vector<TensorId> inputs;
  for (const int i : {0, 1}) {
    EK_ASSIGN_OR_RETURN(TensorId x, c.Input(i));
    const bool turn =
        options != nullptr && (i == 0 ? options->adj_x() : options->adj_y());
    const auto rank = static_cast<int32_t>(c.shape(x).size());
    if (turn && rank >= 2) {
      std::vector<int32_t> order;
      for (int32_t d = 0; d < rank; ++d) order.push_back(d);
      std::swap(order[rank - 1], order[rank - 2]);
      EK_ASSIGN_OR_RETURN(x, c.Transpose(i == 0 ? "adj_x" : "adj_y", x, order));
    }
    inputs.push_back(x);
  }
  v1::OpAttributes attributes;
  attributes.mutable_mat_mul();
  return c.Write(std::move(attributes), std::move(inputs));
}

}  // namespace edgekiln::compiler::tflite_import
