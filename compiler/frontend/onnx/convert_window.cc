// Convolutions and pools: ops that slide a window over the dimensions behind
// batch and channels. They run in NHWC, so each is wrapped in transposes; one
// spatial dimension becomes a height of 1.

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/checked_math.h"
#include "base/status_macros.h"
#include "compiler/frontend/onnx/converters.h"
#include "compiler/frontend/onnx/tensor_data.h"
#include "ops/shape_inference.h"

namespace edgekiln::compiler::onnx_import {
namespace {

// No published network is near it; keeps all arithmetic far from overflow.
constexpr int64_t kMaxWindowValue = 1 << 16;

struct Window {
  int64_t kernel[2];
  v1::Window2d window;
};

// A list attribute with one value per spatial dimension, 1-D ones with a
// leading value for the height of 1.
absl::StatusOr<std::vector<int64_t>> SpatialList(const Node& node,
                                                 absl::string_view attribute,
                                                 int spatial_rank,
                                                 int64_t min) {
  EK_ASSIGN_OR_RETURN(std::vector<int64_t> values, node.Ints(attribute));
  if (values.empty()) return std::vector<int64_t>(2, 1);
  if (static_cast<int>(values.size()) != spatial_rank) {
    return node.Invalid(absl::StrCat("'", attribute, "' has ", values.size(),
                                     " values for ", spatial_rank,
                                     " spatial dimensions"));
  }
  for (const int64_t value : values) {
    if (value < min || value > kMaxWindowValue) {
      return node.Unsupported(absl::StrCat("'", attribute, "' is ", value),
                              absl::StrCat(min, " .. ", kMaxWindowValue),
                              "use a smaller window");
    }
  }
  if (spatial_rank == 1) values.insert(values.begin(), 1);
  return values;
}

// Pads {top, left, bottom, right} as auto_pad says.
absl::StatusOr<std::vector<int64_t>> AutoPads(const Node& node,
                                              const std::string& mode,
                                              const int64_t extent[2],
                                              const int64_t kernel[2],
                                              const v1::Window2d& window) {
  std::vector<int64_t> pads(4, 0);
  if (mode == "VALID") return pads;
  if (mode != "SAME_UPPER" && mode != "SAME_LOWER") {
    return node.Invalid(absl::StrCat("auto_pad '", mode, "'"));
  }
  const int64_t stride[2] = {window.stride_h(), window.stride_w()};
  const int64_t dilation[2] = {window.dilation_h(), window.dilation_w()};
  for (int i = 0; i < 2; ++i) {
    auto [before, after] =
        ops::SamePadding(extent[i], kernel[i], stride[i], dilation[i]);
    if (mode == "SAME_LOWER") std::swap(before, after);
    pads[i] = before;
    pads[i + 2] = after;
  }
  return pads;
}

absl::StatusOr<std::vector<int64_t>> ExplicitPads(const Node& node,
                                                  int spatial_rank) {
  EK_ASSIGN_OR_RETURN(std::vector<int64_t> pads, node.Ints("pads"));
  if (pads.empty()) return std::vector<int64_t>(4, 0);
  if (static_cast<int>(pads.size()) != 2 * spatial_rank) {
    return node.Invalid(absl::StrCat("'pads' has ", pads.size(), " values for ",
                                     spatial_rank, " spatial dimensions"));
  }
  for (const int64_t pad : pads) {
    if (pad < 0 || pad > kMaxWindowValue) {
      return node.Unsupported(absl::StrCat("padding ", pad),
                              absl::StrCat("0 .. ", kMaxWindowValue),
                              "use non-negative padding");
    }
  }
  if (spatial_rank == 1) pads = {0, pads[0], 0, pads[1]};
  return pads;
}

// `extent` is the height and width of the input, `kernel` of the window.
absl::StatusOr<v1::Window2d> ReadWindow(const Node& node, int spatial_rank,
                                        const int64_t extent[2],
                                        const int64_t kernel[2]) {
  EK_ASSIGN_OR_RETURN(const std::vector<int64_t> strides,
                      SpatialList(node, "strides", spatial_rank, 1));
  EK_ASSIGN_OR_RETURN(const std::vector<int64_t> dilations,
                      SpatialList(node, "dilations", spatial_rank, 1));
  v1::Window2d window;
  window.set_stride_h(static_cast<int32_t>(strides[0]));
  window.set_stride_w(static_cast<int32_t>(strides[1]));
  window.set_dilation_h(static_cast<int32_t>(dilations[0]));
  window.set_dilation_w(static_cast<int32_t>(dilations[1]));
  EK_ASSIGN_OR_RETURN(std::string mode, node.String("auto_pad", "NOTSET"));
  std::vector<int64_t> pads;
  if (mode == "NOTSET" || mode.empty()) {
    EK_ASSIGN_OR_RETURN(pads, ExplicitPads(node, spatial_rank));
  } else {
    EK_ASSIGN_OR_RETURN(pads, AutoPads(node, mode, extent, kernel, window));
  }
  window.set_pad_top(static_cast<int32_t>(pads[0]));
  window.set_pad_left(static_cast<int32_t>(pads[1]));
  window.set_pad_bottom(static_cast<int32_t>(pads[2]));
  window.set_pad_right(static_cast<int32_t>(pads[3]));
  return window;
}

// The node's data input as [N, C, H, W], or an error naming the rank.
absl::StatusOr<TensorId> SpatialInput(const Node& node, Builder& builder,
                                      int* spatial_rank) {
  EK_ASSIGN_OR_RETURN(TensorId x, builder.FloatInput(node, 0));
  std::vector<int64_t> shape = builder.shape(x);
  *spatial_rank = static_cast<int>(shape.size()) - 2;
  if (*spatial_rank != 1 && *spatial_rank != 2) {
    return node.Unsupported(absl::StrCat("input '", node.input(0), "' has ",
                                         shape.size(), " dimensions"),
                            "3 (N,C,W) or 4 (N,C,H,W)",
                            "use 1-D or 2-D layers");
  }
  const std::vector<int64_t>& dims = builder.shape(x);
  if (std::any_of(dims.begin(), dims.end(),
                  [](int64_t e) { return e < 1 || e > int64_t{1} << 30; })) {
    return node.Invalid(absl::StrCat("input shape [", absl::StrJoin(dims, ","),
                                     "] is empty or too large"));
  }
  if (*spatial_rank == 1) shape.insert(shape.begin() + 2, 1);
  return builder.Reshape(node, "to-2d", x, std::move(shape));
}

absl::StatusOr<TensorId> ToNhwc(const Node& node, Builder& builder,
                                TensorId x) {
  return builder.Transpose(node, "to-nhwc", x, {0, 2, 3, 1});
}

// Back to the model's layout and rank, and bound to the node's output.
absl::Status BindNchw(const Node& node, Builder& builder, int spatial_rank,
                      TensorId y) {
  EK_ASSIGN_OR_RETURN(y, builder.Transpose(node, "to-nchw", y, {0, 3, 1, 2}));
  if (spatial_rank == 1) {
    std::vector<int64_t> shape = builder.shape(y);
    shape.erase(shape.begin() + 2);
    EK_ASSIGN_OR_RETURN(y, builder.Reshape(node, "to-1d", y, std::move(shape)));
  }
  return builder.Bind(node, 0, y);
}

// Weights [O, C/G, KH, KW] of a grouped convolution as those of a dense one,
// [O, C, KH, KW], zero outside each group.
absl::StatusOr<TensorId> DenseWeights(const Node& node, Builder& builder,
                                      TensorId w, int64_t groups) {
  const Tensor& grouped = builder.tensor(w);
  const std::optional<int64_t> bytes = CheckedMul(
      grouped.num_elements() * static_cast<int64_t>(sizeof(float)), groups);
  if (!grouped.is_constant() || !bytes.has_value() ||
      *bytes > kMaxMadeConstantBytes) {
    return node.Unsupported(
        absl::StrCat(groups, " groups"),
        absl::StrCat("1 group, one input channel per group, or constant "
                     "weights of at most ",
                     kMaxMadeConstantBytes, " bytes when made dense"),
        "use an ordinary or a depthwise convolution");
  }
  const std::vector<int64_t> s = grouped.shape;
  const int64_t group_bytes = s[1] * s[2] * s[3] * int64_t{sizeof(float)};
  const int64_t outputs_per_group = s[0] / groups;
  std::string data(static_cast<size_t>(*bytes), '\0');
  for (int64_t o = 0; o < s[0]; ++o) {
    const int64_t group = o / outputs_per_group;
    std::memcpy(data.data() + (o * groups + group) * group_bytes,
                grouped.data->data() + o * group_bytes, group_bytes);
  }
  Tensor dense = grouped;
  dense.shape[1] *= groups;
  dense.data = std::make_shared<const std::string>(std::move(data));
  return builder.AddConstant(std::move(dense));
}

struct ConvShape {
  int64_t groups = 1;
  int64_t channels = 0;
  int64_t outputs = 0;
};

// Checks weights [O, C/G, KH, KW] against the input.
absl::StatusOr<ConvShape> CheckConv(const Node& node, const Builder& builder,
                                    TensorId x, TensorId w) {
  const std::vector<int64_t>& weights = builder.shape(w);
  EK_ASSIGN_OR_RETURN(const int64_t groups, node.Int("group", 1));
  const ConvShape conv = {groups, builder.shape(x)[1], weights[0]};
  if (groups < 1 || groups > conv.channels || conv.channels % groups != 0 ||
      conv.outputs < 1 || conv.outputs % groups != 0 ||
      weights[1] != conv.channels / groups || weights[2] < 1 ||
      weights[2] > kMaxWindowValue || weights[3] < 1 ||
      weights[3] > kMaxWindowValue) {
    return node.Invalid(absl::StrCat("weights [", absl::StrJoin(weights, ","),
                                     "] and group ", groups, " do not fit ",
                                     conv.channels, " input channels"));
  }
  EK_ASSIGN_OR_RETURN(const std::vector<int64_t> kernel,
                      node.Ints("kernel_shape"));
  if (!kernel.empty() && (kernel.back() != weights[3] ||
                          (kernel.size() == 2 && kernel[0] != weights[2]))) {
    return node.Invalid("kernel_shape differs from the shape of the weights");
  }
  return conv;
}

// {kernel, window} of a pool; its padding grows at the end if ceil_mode makes
// one more, partly filled window.
absl::StatusOr<Window> PoolWindow(const Node& node, int spatial_rank,
                                  const int64_t extent[2],
                                  bool padding_counts) {
  if (!node.Has("kernel_shape")) return node.Invalid("no kernel_shape");
  EK_ASSIGN_OR_RETURN(const std::vector<int64_t> kernel,
                      SpatialList(node, "kernel_shape", spatial_rank, 1));
  Window pool = {{kernel[0], kernel[1]}, {}};
  EK_ASSIGN_OR_RETURN(pool.window,
                      ReadWindow(node, spatial_rank, extent, pool.kernel));
  if (pool.window.dilation_h() != 1 || pool.window.dilation_w() != 1) {
    return node.Unsupported("a dilated window", "dilation 1",
                            "use a pool without dilation");
  }
  EK_ASSIGN_OR_RETURN(const int64_t ceil_mode, node.Int("ceil_mode", 0));
  if (ceil_mode == 0) return pool;
  v1::Window2d& w = pool.window;
  const int64_t stride[2] = {w.stride_h(), w.stride_w()};
  const int64_t before[2] = {w.pad_top(), w.pad_left()};
  const int64_t after[2] = {w.pad_bottom(), w.pad_right()};
  for (int i = 0; i < 2; ++i) {
    const int64_t rest =
        (extent[i] + before[i] + after[i] - kernel[i]) % stride[i];
    // A last window that starts in the padding is dropped.
    const int64_t last_start =
        extent[i] + before[i] + after[i] - kernel[i] - rest + stride[i];
    if (rest <= 0 || last_start >= extent[i] + before[i]) continue;
    if (padding_counts) {
      return node.Unsupported(
          "ceil_mode with count_include_pad and a partly filled last window",
          "ceil_mode where the windows fit exactly or padding is not counted",
          "export with ceil_mode 0 and explicit pads");
    }
    const int32_t grown = static_cast<int32_t>(after[i] + stride[i] - rest);
    if (i == 0) {
      w.set_pad_bottom(grown);
    } else {
      w.set_pad_right(grown);
    }
  }
  return pool;
}

absl::Status ConvertGlobalPool(const Node& node, Builder& builder, bool max) {
  int spatial_rank = 0;
  EK_ASSIGN_OR_RETURN(TensorId x, SpatialInput(node, builder, &spatial_rank));
  const std::vector<int64_t> shape = builder.shape(x);
  EK_ASSIGN_OR_RETURN(x, ToNhwc(node, builder, x));
  v1::Window2d window;
  window.set_stride_h(1);
  window.set_stride_w(1);
  window.set_dilation_h(1);
  window.set_dilation_w(1);
  v1::OpAttributes attributes;
  const auto fill = [&](auto* pool) {
    pool->set_kernel_h(static_cast<int32_t>(shape[2]));
    pool->set_kernel_w(static_cast<int32_t>(shape[3]));
    *pool->mutable_window() = window;
  };
  if (max) {
    fill(attributes.mutable_max_pool2d());
  } else {
    fill(attributes.mutable_average_pool2d());
  }
  EK_ASSIGN_OR_RETURN(const TensorId y,
                      builder.Emit(node, "", std::move(attributes), {x}));
  return BindNchw(node, builder, spatial_rank, y);
}

// Weights in the order our ops want them.
absl::StatusOr<TensorId> ConvWeights(const Node& node, Builder& builder,
                                     TensorId w, const ConvShape& conv,
                                     bool depthwise) {
  if (depthwise) {
    return builder.Transpose(node, "weights", w, {1, 2, 3, 0});
  }
  if (conv.groups > 1) {
    EK_ASSIGN_OR_RETURN(w, DenseWeights(node, builder, w, conv.groups));
  }
  return builder.Transpose(node, "weights", w, {0, 2, 3, 1});
}

}  // namespace

absl::Status ConvertConv(const Node& node, Builder& builder) {
  int spatial_rank = 0;
  EK_ASSIGN_OR_RETURN(TensorId x, SpatialInput(node, builder, &spatial_rank));
  EK_ASSIGN_OR_RETURN(TensorId w, builder.FloatInput(node, 1));
  std::vector<int64_t> weights_shape = builder.shape(w);
  if (static_cast<int>(weights_shape.size()) != spatial_rank + 2) {
    return node.Invalid(
        absl::StrCat("weights have ", weights_shape.size(), " dimensions"));
  }
  if (spatial_rank == 1) weights_shape.insert(weights_shape.begin() + 2, 1);
  EK_ASSIGN_OR_RETURN(w, builder.Reshape(node, "weights-2d", w, weights_shape));
  EK_ASSIGN_OR_RETURN(const ConvShape conv, CheckConv(node, builder, x, w));
  const int64_t extent[2] = {builder.shape(x)[2], builder.shape(x)[3]};
  const int64_t kernel[2] = {weights_shape[2], weights_shape[3]};
  EK_ASSIGN_OR_RETURN(const v1::Window2d window,
                      ReadWindow(node, spatial_rank, extent, kernel));
  EK_ASSIGN_OR_RETURN(x, ToNhwc(node, builder, x));
  const bool depthwise = conv.groups == conv.channels && conv.groups > 1;
  EK_ASSIGN_OR_RETURN(w, ConvWeights(node, builder, w, conv, depthwise));
  v1::OpAttributes attributes;
  if (depthwise) {
    v1::DepthwiseConv2d* op = attributes.mutable_depthwise_conv2d();
    *op->mutable_window() = window;
    op->set_depth_multiplier(
        static_cast<int32_t>(conv.outputs / conv.channels));
  } else {
    *attributes.mutable_conv2d()->mutable_window() = window;
  }
  std::vector<TensorId> inputs = {x, w};
  if (node.has_input(2)) {
    EK_ASSIGN_OR_RETURN(const TensorId bias, builder.FloatInput(node, 2));
    inputs.push_back(bias);
  }
  EK_ASSIGN_OR_RETURN(
      const TensorId y,
      builder.Emit(node, "", std::move(attributes), std::move(inputs)));
  return BindNchw(node, builder, spatial_rank, y);
}

absl::Status ConvertAveragePool(const Node& node, Builder& builder) {
  int spatial_rank = 0;
  EK_ASSIGN_OR_RETURN(TensorId x, SpatialInput(node, builder, &spatial_rank));
  const int64_t extent[2] = {builder.shape(x)[2], builder.shape(x)[3]};
  EK_ASSIGN_OR_RETURN(const int64_t include, node.Int("count_include_pad", 0));
  EK_ASSIGN_OR_RETURN(const Window pool,
                      PoolWindow(node, spatial_rank, extent, include != 0));
  EK_ASSIGN_OR_RETURN(x, ToNhwc(node, builder, x));
  v1::OpAttributes attributes;
  v1::AveragePool2d* op = attributes.mutable_average_pool2d();
  op->set_kernel_h(static_cast<int32_t>(pool.kernel[0]));
  op->set_kernel_w(static_cast<int32_t>(pool.kernel[1]));
  *op->mutable_window() = pool.window;
  op->set_count_include_pad(include != 0);
  EK_ASSIGN_OR_RETURN(const TensorId y,
                      builder.Emit(node, "", std::move(attributes), {x}));
  return BindNchw(node, builder, spatial_rank, y);
}

absl::Status ConvertMaxPool(const Node& node, Builder& builder) {
  if (node.has_output(1)) {
    return node.Unsupported("output 'Indices' is used", "the first output",
                            "use a max pool without indices");
  }
  int spatial_rank = 0;
  EK_ASSIGN_OR_RETURN(TensorId x, SpatialInput(node, builder, &spatial_rank));
  const int64_t extent[2] = {builder.shape(x)[2], builder.shape(x)[3]};
  EK_ASSIGN_OR_RETURN(const Window pool, PoolWindow(node, spatial_rank, extent,
                                                    /*padding_counts=*/false));
  EK_ASSIGN_OR_RETURN(x, ToNhwc(node, builder, x));
  v1::OpAttributes attributes;
  v1::MaxPool2d* op = attributes.mutable_max_pool2d();
  op->set_kernel_h(static_cast<int32_t>(pool.kernel[0]));
  op->set_kernel_w(static_cast<int32_t>(pool.kernel[1]));
  *op->mutable_window() = pool.window;
  EK_ASSIGN_OR_RETURN(const TensorId y,
                      builder.Emit(node, "", std::move(attributes), {x}));
  return BindNchw(node, builder, spatial_rank, y);
}

absl::Status ConvertGlobalAveragePool(const Node& node, Builder& builder) {
  return ConvertGlobalPool(node, builder, /*max=*/false);
}

absl::Status ConvertGlobalMaxPool(const Node& node, Builder& builder) {
  return ConvertGlobalPool(node, builder, /*max=*/true);
}

}  // namespace edgekiln::compiler::onnx_import
