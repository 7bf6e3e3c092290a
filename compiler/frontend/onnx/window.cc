#include "compiler/frontend/onnx/window.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "ops/shape_inference.h"

namespace edgekiln::compiler::onnx_import {
namespace {

// Pads {before..., after...} as auto_pad says.
absl::StatusOr<std::vector<int64_t>> AutoPads(const Node& node,
                                              const std::string& mode,
                                              const SpatialInput& input,
                                              const WindowLists& lists) {
  const size_t rank = input.extents.size();
  std::vector<int64_t> pads(2 * rank, 0);
  if (mode == "VALID") return pads;
  if (mode != "SAME_UPPER" && mode != "SAME_LOWER") {
    return node.Invalid(absl::StrCat("auto_pad '", mode, "'"));
  }
  for (size_t i = 0; i < rank; ++i) {
    auto [before, after] = ops::SamePadding(input.extents[i], lists.kernel[i],
                                            lists.stride[i], lists.dilation[i]);
    if (mode == "SAME_LOWER") std::swap(before, after);
    pads[i] = before;
    pads[i + rank] = after;
  }
  return pads;
}

std::vector<int32_t> Narrow(const std::vector<int64_t>& values) {
  return std::vector<int32_t>(values.begin(), values.end());
}

}  // namespace

absl::StatusOr<SpatialInput> ReadSpatial(const Node& node, Builder& builder,
                                         TensorId x) {
  std::vector<int64_t> shape = builder.shape(x);
  SpatialInput input;
  input.given_rank = static_cast<int>(shape.size()) - 2;
  if (input.given_rank < 1 || input.given_rank > 3) {
    return node.Unsupported(absl::StrCat("input '", node.input(0), "' has ",
                                         shape.size(), " dimensions"),
                            "3 (N,C,W), 4 (N,C,H,W) or 5 (N,C,D,H,W)",
                            "use 1-D, 2-D or 3-D layers");
  }
  if (std::any_of(shape.begin(), shape.end(),
                  [](int64_t e) { return e < 1 || e > int64_t{1} << 30; })) {
    return node.Invalid(absl::StrCat("input shape [", absl::StrJoin(shape, ","),
                                     "] is empty or too large"));
  }
  if (input.given_rank == 1) shape.insert(shape.begin() + 2, 1);
  input.extents.assign(shape.begin() + 2, shape.end());
  input.channels = shape[1];
  EK_ASSIGN_OR_RETURN(input.x,
                      builder.Reshape(node, "to-2d", x, std::move(shape)));
  return input;
}

absl::StatusOr<std::vector<int64_t>> SpatialList(const Node& node,
                                                 absl::string_view attribute,
                                                 int given_rank, int64_t min) {
  EK_ASSIGN_OR_RETURN(std::vector<int64_t> values, node.Ints(attribute));
  if (values.empty()) {
    return std::vector<int64_t>(static_cast<size_t>(std::max(2, given_rank)),
                                1);
  }
  if (static_cast<int>(values.size()) != given_rank) {
    return node.Invalid(absl::StrCat("'", attribute, "' has ", values.size(),
                                     " values for ", given_rank,
                                     " spatial dimensions"));
  }
  for (const int64_t value : values) {
    if (value < min || value > kMaxWindowValue) {
      return node.Unsupported(absl::StrCat("'", attribute, "' is ", value),
                              absl::StrCat(min, " .. ", kMaxWindowValue),
                              "use a smaller window");
    }
  }
  if (given_rank == 1) values.insert(values.begin(), std::min<int64_t>(min, 1));
  return values;
}

absl::StatusOr<std::vector<int64_t>> ExplicitPads(const Node& node,
                                                  int given_rank) {
  EK_ASSIGN_OR_RETURN(std::vector<int64_t> pads, node.Ints("pads"));
  if (pads.empty()) {
    return std::vector<int64_t>(
        static_cast<size_t>(2 * std::max(2, given_rank)), 0);
  }
  if (static_cast<int>(pads.size()) != 2 * given_rank) {
    return node.Invalid(absl::StrCat("'pads' has ", pads.size(), " values for ",
                                     given_rank, " spatial dimensions"));
  }
  for (const int64_t pad : pads) {
    if (pad < 0 || pad > kMaxWindowValue) {
      return node.Unsupported(absl::StrCat("padding ", pad),
                              absl::StrCat("0 .. ", kMaxWindowValue),
                              "use non-negative padding");
    }
  }
  if (given_rank == 1) pads = {0, pads[0], 0, pads[1]};
  return pads;
}

absl::StatusOr<WindowLists> ReadWindow(const Node& node,
                                       const SpatialInput& input,
                                       std::vector<int64_t> kernel) {
  WindowLists lists;
  lists.kernel = std::move(kernel);
  EK_ASSIGN_OR_RETURN(lists.stride,
                      SpatialList(node, "strides", input.given_rank, 1));
  EK_ASSIGN_OR_RETURN(lists.dilation,
                      SpatialList(node, "dilations", input.given_rank, 1));
  EK_ASSIGN_OR_RETURN(const std::string mode,
                      node.String("auto_pad", "NOTSET"));
  std::vector<int64_t> pads;
  if (mode == "NOTSET" || mode.empty()) {
    EK_ASSIGN_OR_RETURN(pads, ExplicitPads(node, input.given_rank));
  } else {
    EK_ASSIGN_OR_RETURN(pads, AutoPads(node, mode, input, lists));
  }
  const auto middle = pads.begin() + static_cast<int>(pads.size() / 2);
  lists.before.assign(pads.begin(), middle);
  lists.after.assign(middle, pads.end());
  return lists;
}

v1::Window2d Window2dOf(const WindowLists& lists) {
  v1::Window2d window;
  window.set_stride_h(static_cast<int32_t>(lists.stride[0]));
  window.set_stride_w(static_cast<int32_t>(lists.stride[1]));
  window.set_dilation_h(static_cast<int32_t>(lists.dilation[0]));
  window.set_dilation_w(static_cast<int32_t>(lists.dilation[1]));
  window.set_pad_top(static_cast<int32_t>(lists.before[0]));
  window.set_pad_left(static_cast<int32_t>(lists.before[1]));
  window.set_pad_bottom(static_cast<int32_t>(lists.after[0]));
  window.set_pad_right(static_cast<int32_t>(lists.after[1]));
  return window;
}

v1::Window WindowOf(const WindowLists& lists) {
  v1::Window window;
  const auto fill = [](auto* field, const std::vector<int64_t>& values) {
    const std::vector<int32_t> narrow = Narrow(values);
    field->Assign(narrow.begin(), narrow.end());
  };
  fill(window.mutable_stride(), lists.stride);
  fill(window.mutable_dilation(), lists.dilation);
  fill(window.mutable_pad_before(), lists.before);
  fill(window.mutable_pad_after(), lists.after);
  return window;
}

absl::StatusOr<TensorId> ToChannelsLast(const Node& node, Builder& builder,
                                        absl::string_view role, TensorId x) {
  std::vector<int32_t> permutation = {0};
  for (int32_t i = 2; i < builder.rank(x); ++i) permutation.push_back(i);
  permutation.push_back(1);
  return builder.Transpose(node, role, x, std::move(permutation));
}

absl::StatusOr<TensorId> ToChannelsFirst(const Node& node, Builder& builder,
                                         absl::string_view role, TensorId x,
                                         int given_rank) {
  const int32_t rank = static_cast<int32_t>(builder.rank(x));
  std::vector<int32_t> permutation = {0, rank - 1};
  for (int32_t i = 1; i + 1 < rank; ++i) permutation.push_back(i);
  EK_ASSIGN_OR_RETURN(x,
                      builder.Transpose(node, role, x, std::move(permutation)));
  if (given_rank != 1) return x;
  std::vector<int64_t> shape = builder.shape(x);
  shape.erase(shape.begin() + 2);
  return builder.Reshape(node, absl::StrCat(role, "-1d"), x, std::move(shape));
}

}  // namespace edgekiln::compiler::onnx_import
