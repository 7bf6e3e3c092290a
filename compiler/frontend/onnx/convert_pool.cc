// Pools. Two spatial dimensions without frills are the IR's 2-D pools, which
// engines know; the rest is its Pool.

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/frontend/onnx/converters.h"
#include "compiler/frontend/onnx/ir_ops.h"
#include "compiler/frontend/onnx/pooling.h"
#include "compiler/frontend/onnx/window.h"

namespace edgekiln::compiler::onnx_import {
namespace {

// How far the last, partly filled window reaches beyond the padding at the end
// of each dimension: only with ceil_mode, which rounds the output extent up.
absl::StatusOr<std::vector<int64_t>> Overhang(const Node& node,
                                              const SpatialInput& input,
                                              const WindowLists& window) {
  std::vector<int64_t> overhang(input.extents.size(), 0);
  EK_ASSIGN_OR_RETURN(const bool ceil_mode, node.Flag("ceil_mode", false));
  if (!ceil_mode) return overhang;
  for (size_t i = 0; i < overhang.size(); ++i) {
    const int64_t reach = (window.kernel[i] - 1) * window.dilation[i] + 1;
    const int64_t room =
        input.extents[i] + window.before[i] + window.after[i] - reach;
    const int64_t rest = room % window.stride[i];
    // A last window that starts in the padding is dropped.
    const int64_t last_start = room - rest + window.stride[i];
    if (rest > 0 && last_start < input.extents[i] + window.before[i]) {
      overhang[i] = window.stride[i] - rest;
    }
  }
  return overhang;
}

// `x`, channels-last, with the window's paddings made part of it.
absl::StatusOr<TensorId> Padded(const Node& node, Builder& builder, TensorId x,
                                WindowLists& window) {
  std::vector<int64_t> before(static_cast<size_t>(builder.rank(x)), 0);
  std::vector<int64_t> after = before;
  std::copy(window.before.begin(), window.before.end(), before.begin() + 1);
  std::copy(window.after.begin(), window.after.end(), after.begin() + 1);
  std::fill(window.before.begin(), window.before.end(), 0);
  std::fill(window.after.begin(), window.after.end(), 0);
  return builder.Emit(node, "padded", PadOp(before, after), {x});
}

bool IsDilated(const WindowLists& window) {
  return std::any_of(window.dilation.begin(), window.dilation.end(),
                     [](int64_t dilation) { return dilation != 1; });
}

v1::OpAttributes PoolOp(v1::Pool::Function function, const WindowLists& window,
                        bool count_include_pad) {
  v1::OpAttributes attributes;
  v1::Pool* op = attributes.mutable_pool();
  op->set_function(function);
  op->mutable_kernel()->Assign(window.kernel.begin(), window.kernel.end());
  *op->mutable_window() = WindowOf(window);
  op->set_count_include_pad(count_include_pad);
  return attributes;
}

template <typename Pool>
void Fill2d(const WindowLists& window, Pool* pool) {
  pool->set_kernel_h(static_cast<int32_t>(window.kernel[0]));
  pool->set_kernel_w(static_cast<int32_t>(window.kernel[1]));
  *pool->mutable_window() = Window2dOf(window);
}

// Whether the IR's 2-D pools compute it.
bool FitsPool2d(const Builder& builder, TensorId x, const WindowLists& window) {
  const Tensor& tensor = builder.tensor(x);
  return window.kernel.size() == 2 && !IsDilated(window) &&
         (IsFloat(tensor.type) || tensor.quantization.has_value());
}

absl::StatusOr<WindowLists> PoolWindow(const Node& node,
                                       const SpatialInput& input) {
  if (!node.Has("kernel_shape")) return node.Invalid("no kernel_shape");
  EK_ASSIGN_OR_RETURN(std::vector<int64_t> kernel,
                      SpatialList(node, "kernel_shape", input.given_rank, 1));
  return ReadWindow(node, input, std::move(kernel));
}

void Grow(const std::vector<int64_t>& overhang, WindowLists& window) {
  for (size_t i = 0; i < overhang.size(); ++i) window.after[i] += overhang[i];
}

// What MaxPool and LpPool read: `x` with channels last, and a window that
// covers what hangs over the end.
struct PoolInput {
  TensorId x = kNoTensor;
  int given_rank = 0;
  WindowLists window;
};

absl::StatusOr<PoolInput> ReadPool(const Node& node, Builder& builder,
                                   TensorId x) {
  EK_ASSIGN_OR_RETURN(const SpatialInput input, ReadSpatial(node, builder, x));
  EK_ASSIGN_OR_RETURN(WindowLists window, PoolWindow(node, input));
  EK_ASSIGN_OR_RETURN(const std::vector<int64_t> overhang,
                      Overhang(node, input, window));
  Grow(overhang, window);
  EK_ASSIGN_OR_RETURN(x, ToChannelsLast(node, builder, "to-nhwc", input.x));
  return PoolInput{x, input.given_rank, std::move(window)};
}

WindowLists WholeWindow(const SpatialInput& input) {
  const std::vector<int64_t> ones(input.extents.size(), 1);
  const std::vector<int64_t> zeros(input.extents.size(), 0);
  return {input.extents, ones, ones, zeros, zeros};
}

// The order of LpPool's norm.
absl::StatusOr<int32_t> NormOrder(const Node& node) {
  EK_ASSIGN_OR_RETURN(const int64_t p, node.Int("p", 2));
  if (p >= 1 && p <= 1 << 16) return static_cast<int32_t>(p);
  return node.Invalid(absl::StrCat("p is ", p, ", not 1 or more"));
}

}  // namespace

absl::StatusOr<TensorId> EmitAveragePool(const Node& node, Builder& builder,
                                         TensorId x) {
  EK_ASSIGN_OR_RETURN(const SpatialInput input, ReadSpatial(node, builder, x));
  EK_ASSIGN_OR_RETURN(WindowLists window, PoolWindow(node, input));
  EK_ASSIGN_OR_RETURN(bool include, node.Flag("count_include_pad", false));
  EK_ASSIGN_OR_RETURN(const std::vector<int64_t> overhang,
                      Overhang(node, input, window));
  EK_ASSIGN_OR_RETURN(x, ToChannelsLast(node, builder, "to-nhwc", input.x));
  const bool overhangs = std::any_of(overhang.begin(), overhang.end(),
                                     [](int64_t more) { return more > 0; });
  if (include && overhangs) {
    // What hangs over is never counted, padding is.
    EK_ASSIGN_OR_RETURN(x, Padded(node, builder, x, window));
    include = false;
  }
  Grow(overhang, window);
  v1::OpAttributes attributes;
  if (FitsPool2d(builder, x, window)) {
    Fill2d(window, attributes.mutable_average_pool2d());
    attributes.mutable_average_pool2d()->set_count_include_pad(include);
  } else {
    attributes = PoolOp(v1::Pool::AVERAGE, window, include);
  }
  EK_ASSIGN_OR_RETURN(const TensorId y,
                      builder.Emit(node, "", std::move(attributes), {x}));
  return ToChannelsFirst(node, builder, "to-nchw", y, input.given_rank);
}

absl::Status ConvertAveragePool(const Node& node, Builder& builder) {
  EK_ASSIGN_OR_RETURN(const TensorId x, builder.FloatInput(node, 0));
  EK_ASSIGN_OR_RETURN(const TensorId y, EmitAveragePool(node, builder, x));
  return builder.Bind(node, 0, y);
}

absl::Status ConvertMaxPool(const Node& node, Builder& builder) {
  EK_ASSIGN_OR_RETURN(const TensorId given, builder.Input(node, 0));
  EK_ASSIGN_OR_RETURN(const PoolInput input, ReadPool(node, builder, given));
  const auto& [x, given_rank, window] = input;
  const Tensor& from = builder.tensor(x);
  std::vector<ResultType> results = {{from.type, from.quantization}};
  v1::OpAttributes attributes;
  if (node.has_output(1)) {
    EK_ASSIGN_OR_RETURN(const bool column_major,
                        node.Flag("storage_order", false));
    attributes = PoolOp(v1::Pool::MAXIMUM, window, false);
    // The height that a 1-D pool is given has one row in either order.
    attributes.mutable_pool()->set_column_major(column_major);
    results.push_back({v1::INT64});
  } else if (FitsPool2d(builder, x, window)) {
    Fill2d(window, attributes.mutable_max_pool2d());
  } else {
    attributes = PoolOp(v1::Pool::MAXIMUM, window, false);
  }
  EK_ASSIGN_OR_RETURN(
      const std::vector<TensorId> results_last,
      builder.EmitAll(node, "", std::move(attributes), {x}, results));
  for (size_t i = 0; i < results_last.size(); ++i) {
    EK_ASSIGN_OR_RETURN(
        const TensorId y,
        ToChannelsFirst(node, builder, i == 0 ? "to-nchw" : "indices-to-nchw",
                        results_last[i], given_rank));
    EK_RETURN_IF_ERROR(builder.Bind(node, static_cast<int>(i), y));
  }
  return absl::OkStatus();
}

absl::StatusOr<TensorId> EmitGlobalAveragePool(const Node& node,
                                               Builder& builder, TensorId x) {
  if (!IsFloat(builder.tensor(x).type) || builder.rank(x) > 4) {
    std::vector<int32_t> axes;
    for (int32_t i = 2; i < builder.rank(x); ++i) axes.push_back(i);
    return builder.Emit(node, "", MeanOp(axes, /*keep_dims=*/true), {x});
  }
  EK_ASSIGN_OR_RETURN(const SpatialInput input, ReadSpatial(node, builder, x));
  EK_ASSIGN_OR_RETURN(x, ToChannelsLast(node, builder, "to-nhwc", input.x));
  v1::OpAttributes attributes;
  Fill2d(WholeWindow(input), attributes.mutable_average_pool2d());
  EK_ASSIGN_OR_RETURN(const TensorId y,
                      builder.Emit(node, "", std::move(attributes), {x}));
  return ToChannelsFirst(node, builder, "to-nchw", y, input.given_rank);
}

absl::Status ConvertGlobalAveragePool(const Node& node, Builder& builder) {
  EK_ASSIGN_OR_RETURN(const TensorId x, builder.FloatInput(node, 0));
  EK_ASSIGN_OR_RETURN(const TensorId y,
                      EmitGlobalAveragePool(node, builder, x));
  return builder.Bind(node, 0, y);
}

absl::Status ConvertGlobalMaxPool(const Node& node, Builder& builder) {
  EK_ASSIGN_OR_RETURN(TensorId x, builder.FloatInput(node, 0));
  if (!IsFloat(builder.tensor(x).type) || builder.rank(x) > 4) {
    std::vector<int32_t> axes;
    for (int32_t i = 2; i < builder.rank(x); ++i) axes.push_back(i);
    EK_ASSIGN_OR_RETURN(
        const TensorId y,
        builder.Emit(node, "", ReduceOp(v1::Reduce::MAX, axes, true), {x}));
    return builder.Bind(node, 0, y);
  }
  EK_ASSIGN_OR_RETURN(const SpatialInput input, ReadSpatial(node, builder, x));
  EK_ASSIGN_OR_RETURN(x, ToChannelsLast(node, builder, "to-nhwc", input.x));
  v1::OpAttributes attributes;
  Fill2d(WholeWindow(input), attributes.mutable_max_pool2d());
  EK_ASSIGN_OR_RETURN(TensorId y,
                      builder.Emit(node, "", std::move(attributes), {x}));
  EK_ASSIGN_OR_RETURN(
      y, ToChannelsFirst(node, builder, "to-nchw", y, input.given_rank));
  return builder.Bind(node, 0, y);
}

absl::Status ConvertLpPool(const Node& node, Builder& builder) {
  EK_ASSIGN_OR_RETURN(const TensorId x, builder.FloatInput(node, 0));
  EK_ASSIGN_OR_RETURN(const PoolInput input, ReadPool(node, builder, x));
  EK_ASSIGN_OR_RETURN(const int32_t p, NormOrder(node));
  v1::OpAttributes attributes = PoolOp(v1::Pool::LP_NORM, input.window, false);
  attributes.mutable_pool()->set_p(p);
  EK_ASSIGN_OR_RETURN(TensorId y,
                      builder.Emit(node, "", std::move(attributes), {input.x}));
  EK_ASSIGN_OR_RETURN(
      y, ToChannelsFirst(node, builder, "to-nchw", y, input.given_rank));
  return builder.Bind(node, 0, y);
}

absl::Status ConvertGlobalLpPool(const Node& node, Builder& builder) {
  EK_ASSIGN_OR_RETURN(TensorId x, builder.FloatInput(node, 0));
  EK_ASSIGN_OR_RETURN(const SpatialInput input, ReadSpatial(node, builder, x));
  EK_ASSIGN_OR_RETURN(const int32_t p, NormOrder(node));
  EK_ASSIGN_OR_RETURN(x, ToChannelsLast(node, builder, "to-nhwc", input.x));
  v1::OpAttributes attributes =
      PoolOp(v1::Pool::LP_NORM, WholeWindow(input), false);
  attributes.mutable_pool()->set_p(p);
  EK_ASSIGN_OR_RETURN(TensorId y,
                      builder.Emit(node, "", std::move(attributes), {x}));
  EK_ASSIGN_OR_RETURN(
      y, ToChannelsFirst(node, builder, "to-nchw", y, input.given_rank));
  return builder.Bind(node, 0, y);
}

}  // namespace edgekiln::compiler::onnx_import
