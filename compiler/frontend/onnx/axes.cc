#include "compiler/frontend/onnx/axes.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"

namespace edgekiln::compiler::onnx_import {

absl::StatusOr<int32_t> CheckedAxis(const Node& node, int64_t axis,
                                    int64_t rank) {
  if (axis < -rank || axis >= rank) {
    return node.Invalid(
        absl::StrCat("axis ", axis, " of a tensor of rank ", rank));
  }
  return static_cast<int32_t>(axis < 0 ? axis + rank : axis);
}

absl::StatusOr<int32_t> AxisAttribute(const Node& node, int64_t fallback,
                                      int64_t rank) {
  EK_ASSIGN_OR_RETURN(const int64_t axis, node.Int("axis", fallback));
  return CheckedAxis(node, axis, rank);
}

absl::StatusOr<std::vector<int64_t>> ListArgument(const Node& node,
                                                  const Builder& builder,
                                                  absl::string_view attribute,
                                                  int index,
                                                  int first_input_opset) {
  if (node.opset() < first_input_opset) return node.Ints(attribute);
  if (!node.has_input(index)) return std::vector<int64_t>();
  return builder.ConstantIntegers(node, index);
}

absl::StatusOr<std::vector<int32_t>> AxesArgument(const Node& node,
                                                  const Builder& builder,
                                                  int index,
                                                  int first_input_opset,
                                                  int64_t rank) {
  EK_ASSIGN_OR_RETURN(
      const std::vector<int64_t> given,
      ListArgument(node, builder, "axes", index, first_input_opset));
  std::vector<int32_t> axes;
  for (const int64_t axis : given) {
    EK_ASSIGN_OR_RETURN(const int32_t checked, CheckedAxis(node, axis, rank));
    axes.push_back(checked);
  }
  std::sort(axes.begin(), axes.end());
  if (std::adjacent_find(axes.begin(), axes.end()) != axes.end()) {
    return node.Invalid("an axis is given twice");
  }
  return axes;
}

std::pair<int64_t, int64_t> SliceRange(int64_t start, int64_t end, int64_t step,
                                       int64_t extent) {
  const int64_t low = step > 0 ? 0 : -1;
  const int64_t high = step > 0 ? extent : extent - 1;
  const auto bound = [&](int64_t value) {
    if (value < 0) value = std::max(value, -extent - 1) + extent;
    return std::clamp(value, low, std::max(low, high));
  };
  start = bound(start);
  end = bound(end);
  const int64_t span = step > 0 ? end - start : start - end;
  const int64_t stride = step > 0 ? step : -step;
  return {start, span <= 0 ? 0 : (span - 1) / stride + 1};
}

absl::StatusOr<int> WordAttribute(const Node& node, absl::string_view attribute,
                                  absl::string_view fallback,
                                  const std::vector<absl::string_view>& known) {
  EK_ASSIGN_OR_RETURN(const std::string word, node.String(attribute, fallback));
  const auto found = std::find(known.begin(), known.end(), word);
  if (found != known.end()) return static_cast<int>(found - known.begin());
  return node.Unsupported(absl::StrCat("'", attribute, "' is '", word, "'"),
                          absl::StrJoin(known, ", "),
                          "export it with one of these");
}

}  // namespace edgekiln::compiler::onnx_import
