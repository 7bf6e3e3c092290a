// Convolutions and their transposes.

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/checked_math.h"
#include "base/status_macros.h"
#include "compiler/frontend/onnx/converters.h"
#include "compiler/frontend/onnx/ir_ops.h"
#include "compiler/frontend/onnx/products.h"
#include "compiler/frontend/onnx/window.h"

namespace edgekiln::compiler::onnx_import {
namespace {

// Weights [A, B, K...] with two spatial dimensions at least.
absl::StatusOr<TensorId> SpatialWeights(const Node& node, Builder& builder,
                                        TensorId w, const SpatialInput& input) {
  std::vector<int64_t> shape = builder.shape(w);
  if (static_cast<int>(shape.size()) != input.given_rank + 2) {
    return node.Invalid(
        absl::StrCat("weights have ", shape.size(), " dimensions"));
  }
  if (input.given_rank == 1) shape.insert(shape.begin() + 2, 1);
  return builder.Reshape(node, "weights-2d", w, std::move(shape));
}

absl::Status CheckKernel(const Node& node, const Builder& builder, TensorId w,
                         const SpatialInput& input) {
  const std::vector<int64_t>& weights = builder.shape(w);
  EK_ASSIGN_OR_RETURN(const std::vector<int64_t> kernel,
                      node.Ints("kernel_shape"));
  if (!kernel.empty() &&
      (static_cast<int>(kernel.size()) != input.given_rank ||
       !std::equal(kernel.rbegin(), kernel.rend(), weights.rbegin()))) {
    return node.Invalid("kernel_shape differs from the shape of the weights");
  }
  if (std::any_of(weights.begin() + 2, weights.end(), [](int64_t extent) {
        return extent < 1 || extent > kMaxWindowValue;
      })) {
    return node.Invalid(absl::StrCat("weights [", absl::StrJoin(weights, ","),
                                     "] have no extent or too large a one"));
  }
  return absl::OkStatus();
}

// Checks weights [O, C/G, K...] against the input. Returns the groups.
absl::StatusOr<int64_t> CheckConv(const Node& node, const Builder& builder,
                                  const SpatialInput& input, TensorId w) {
  const std::vector<int64_t>& weights = builder.shape(w);
  EK_ASSIGN_OR_RETURN(const int64_t groups, node.Int("group", 1));
  if (groups < 1 || groups > input.channels || input.channels % groups != 0 ||
      weights[0] < 1 || weights[0] % groups != 0 ||
      weights[1] != input.channels / groups) {
    return node.Invalid(absl::StrCat("weights [", absl::StrJoin(weights, ","),
                                     "] and group ", groups, " do not fit ",
                                     input.channels, " input channels"));
  }
  EK_RETURN_IF_ERROR(CheckKernel(node, builder, w, input));
  return groups;
}

v1::OpAttributes ConvOp(const WindowLists& window, const SpatialInput& input,
                        int64_t groups, bool depthwise, int64_t outputs) {
  v1::OpAttributes attributes;
  const int32_t stated = groups == 1 ? 0 : static_cast<int32_t>(groups);
  if (window.stride.size() == 3) {
    *attributes.mutable_conv3d()->mutable_window() = WindowOf(window);
    attributes.mutable_conv3d()->set_groups(stated);
  } else if (depthwise) {
    v1::DepthwiseConv2d* op = attributes.mutable_depthwise_conv2d();
    *op->mutable_window() = Window2dOf(window);
    op->set_depth_multiplier(static_cast<int32_t>(outputs / input.channels));
  } else {
    *attributes.mutable_conv2d()->mutable_window() = Window2dOf(window);
    attributes.mutable_conv2d()->set_groups(stated);
  }
  return attributes;
}

// Weights [C, O/G, K...] as [O, K..., C/G].
absl::StatusOr<TensorId> TransposedWeights(const Node& node, Builder& builder,
                                           TensorId w, int64_t groups) {
  const std::vector<int64_t> s = builder.shape(w);
  std::vector<int64_t> split = {groups, s[0] / groups};
  split.insert(split.end(), s.begin() + 1, s.end());
  EK_ASSIGN_OR_RETURN(w, builder.Reshape(node, "weights-groups", w, split));
  std::vector<int32_t> permutation = {0, 2};
  std::vector<int64_t> joined = {groups * s[1]};
  for (size_t i = 2; i < s.size(); ++i) {
    permutation.push_back(static_cast<int32_t>(i) + 1);
    joined.push_back(s[i]);
  }
  permutation.push_back(1);
  joined.push_back(s[0] / groups);
  EK_ASSIGN_OR_RETURN(
      w, builder.Transpose(node, "weights-turned", w, std::move(permutation)));
  return builder.Reshape(node, "weights", w, std::move(joined));
}

// Paddings of a transposed convolution whose output shape or auto_pad is
// given. What no padding can take off is added at the end.
absl::Status PadToShape(const Node& node, const SpatialInput& input,
                        WindowLists& window, std::vector<int64_t>& extra) {
  EK_ASSIGN_OR_RETURN(const std::string mode,
                      node.String("auto_pad", "NOTSET"));
  const bool same = mode == "SAME_UPPER" || mode == "SAME_LOWER";
  if (!same && !node.Has("output_shape")) return absl::OkStatus();
  std::vector<int64_t> wanted;
  for (size_t i = 0; i < input.extents.size(); ++i) {
    wanted.push_back(input.extents[i] * window.stride[i]);
  }
  if (node.Has("output_shape")) {
    EK_ASSIGN_OR_RETURN(const std::vector<int64_t> shape,
                        node.Ints("output_shape"));
    // Some exporters write batch and channels, too.
    const size_t given = static_cast<size_t>(input.given_rank);
    if (shape.size() != given && shape.size() != given + 2) {
      return node.Invalid("output_shape has another rank");
    }
    std::copy(shape.end() - input.given_rank, shape.end(),
              wanted.end() - input.given_rank);
  }
  for (size_t i = 0; i < wanted.size(); ++i) {
    const int64_t full = (input.extents[i] - 1) * window.stride[i] + extra[i] +
                         (window.kernel[i] - 1) * window.dilation[i] + 1;
    if (wanted[i] < 1 || wanted[i] > kMaxWindowValue * kMaxWindowValue) {
      return node.Invalid(absl::StrCat("output extent ", wanted[i]));
    }
    const int64_t total = std::max<int64_t>(0, full - wanted[i]);
    extra[i] += std::max<int64_t>(0, wanted[i] - full);
    const int64_t half = total / 2;
    window.before[i] = mode == "SAME_UPPER" ? half : total - half;
    window.after[i] = total - window.before[i];
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<TensorId> EmitConv(const Node& node, Builder& builder,
                                  TensorId x, TensorId w, TensorId bias) {
  EK_ASSIGN_OR_RETURN(const SpatialInput input, ReadSpatial(node, builder, x));
  EK_ASSIGN_OR_RETURN(w, SpatialWeights(node, builder, w, input));
  EK_ASSIGN_OR_RETURN(const int64_t groups, CheckConv(node, builder, input, w));
  const std::vector<int64_t> weights = builder.shape(w);
  EK_ASSIGN_OR_RETURN(
      const WindowLists window,
      ReadWindow(node, input, {weights.begin() + 2, weights.end()}));
  EK_ASSIGN_OR_RETURN(x, ToChannelsLast(node, builder, "to-nhwc", input.x));
  const bool depthwise =
      weights.size() == 4 && groups == input.channels && groups > 1;
  if (depthwise) {
    EK_ASSIGN_OR_RETURN(w, builder.Transpose(node, "weights", w, {1, 2, 3, 0}));
  } else {
    EK_ASSIGN_OR_RETURN(w, ToChannelsLast(node, builder, "weights", w));
  }
  std::vector<TensorId> inputs = {x, w};
  if (bias != kNoTensor) inputs.push_back(bias);
  EK_ASSIGN_OR_RETURN(
      const TensorId y,
      builder.Emit(node, "",
                   ConvOp(window, input, groups, depthwise, weights[0]),
                   std::move(inputs)));
  return ToChannelsFirst(node, builder, "to-nchw", y, input.given_rank);
}

absl::Status ConvertConv(const Node& node, Builder& builder) {
  EK_ASSIGN_OR_RETURN(const TensorId x, builder.PlainInput(node, 0));
  EK_ASSIGN_OR_RETURN(const TensorId w, builder.PlainInput(node, 1));
  TensorId bias = kNoTensor;
  if (node.has_input(2)) {
    EK_ASSIGN_OR_RETURN(bias, builder.PlainInput(node, 2));
  }
  EK_ASSIGN_OR_RETURN(const TensorId y, EmitConv(node, builder, x, w, bias));
  return builder.Bind(node, 0, y);
}

absl::Status ConvertConvTranspose(const Node& node, Builder& builder) {
  EK_ASSIGN_OR_RETURN(TensorId x, builder.FloatInput(node, 0));
  EK_ASSIGN_OR_RETURN(TensorId w, builder.FloatInput(node, 1));
  EK_ASSIGN_OR_RETURN(const SpatialInput input, ReadSpatial(node, builder, x));
  EK_ASSIGN_OR_RETURN(w, SpatialWeights(node, builder, w, input));
  EK_RETURN_IF_ERROR(CheckKernel(node, builder, w, input));
  EK_ASSIGN_OR_RETURN(const int64_t groups, node.Int("group", 1));
  const std::vector<int64_t> weights = builder.shape(w);
  if (groups < 1 || groups > input.channels || input.channels % groups != 0 ||
      weights[0] != input.channels || weights[1] < 1 ||
      !CheckedMul(weights[1], groups).has_value()) {
    return node.Invalid(absl::StrCat("weights [", absl::StrJoin(weights, ","),
                                     "] and group ", groups, " do not fit ",
                                     input.channels, " input channels"));
  }
  EK_ASSIGN_OR_RETURN(
      WindowLists window,
      ReadWindow(node, input, {weights.begin() + 2, weights.end()}));
  std::vector<int64_t> extra(input.extents.size(), 0);
  if (node.Has("output_padding")) {
    EK_ASSIGN_OR_RETURN(
        extra, SpatialList(node, "output_padding", input.given_rank, 0));
  }
  EK_RETURN_IF_ERROR(PadToShape(node, input, window, extra));
  EK_ASSIGN_OR_RETURN(x, ToChannelsLast(node, builder, "to-nhwc", input.x));
  EK_ASSIGN_OR_RETURN(w, TransposedWeights(node, builder, w, groups));
  v1::OpAttributes attributes;
  v1::TransposedConv* op = attributes.mutable_transposed_conv();
  *op->mutable_window() = WindowOf(window);
  op->mutable_output_pad()->Assign(extra.begin(), extra.end());
  op->set_groups(groups == 1 ? 0 : static_cast<int32_t>(groups));
  std::vector<TensorId> inputs = {x, w};
  if (node.has_input(2)) {
    EK_ASSIGN_OR_RETURN(const TensorId bias, builder.FloatInput(node, 2));
    inputs.push_back(bias);
  }
  EK_ASSIGN_OR_RETURN(TensorId y, builder.Emit(node, "", std::move(attributes),
                                               std::move(inputs)));
  EK_ASSIGN_OR_RETURN(
      y, ToChannelsFirst(node, builder, "to-nchw", y, input.given_rank));
  return builder.Bind(node, 0, y);
}

}  // namespace edgekiln::compiler::onnx_import
