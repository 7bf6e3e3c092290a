#ifndef EK_COMPILER_FRONTEND_ONNX_AXES_H_
#define EK_COMPILER_FRONTEND_ONNX_AXES_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "compiler/frontend/onnx/builder.h"
#include "compiler/frontend/onnx/node.h"

// Axes as ONNX gives them: negative ones count from the end; newer op sets move
// lists from attributes to inputs.
namespace edgekiln::compiler::onnx_import {

// Non-negative form of an axis of a tensor with `rank` dimensions.
absl::StatusOr<int32_t> CheckedAxis(const Node& node, int64_t axis,
                                    int64_t rank);
// The same of attribute "axis".
absl::StatusOr<int32_t> AxisAttribute(const Node& node, int64_t fallback,
                                      int64_t rank);

// A list that is an attribute before op set `first_input_opset` and then input
// `index`; empty if absent.
absl::StatusOr<std::vector<int64_t>> ListArgument(const Node& node,
                                                  const Builder& builder,
                                                  absl::string_view attribute,
                                                  int index,
                                                  int first_input_opset);

// "axes", non-negative, ascending, each once.
absl::StatusOr<std::vector<int32_t>> AxesArgument(const Node& node,
                                                  const Builder& builder,
                                                  int index,
                                                  int first_input_opset,
                                                  int64_t rank);

// {first, count} of one dimension of a slice, with numpy's rules for negative
// and too large values. `step` is neither 0 nor the smallest number.
std::pair<int64_t, int64_t> SliceRange(int64_t start, int64_t end, int64_t step,
                                       int64_t extent);

// One of an attribute's words. UNIMPLEMENTED for one that is not in `known`.
absl::StatusOr<int> WordAttribute(const Node& node, absl::string_view attribute,
                                  absl::string_view fallback,
                                  const std::vector<absl::string_view>& known);

}  // namespace edgekiln::compiler::onnx_import

#endif  // EK_COMPILER_FRONTEND_ONNX_AXES_H_
