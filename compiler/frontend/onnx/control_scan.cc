// Scan: a loop over the slices of its inputs, unrolled.

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/frontend/onnx/axes.h"
#include "compiler/frontend/onnx/graph_walk.h"
#include "compiler/frontend/onnx/ir_ops.h"

namespace edgekiln::compiler::onnx_import {
namespace {

// What a Scan slices: one tensor along one axis.
struct Scanned {
  TensorId x = kNoTensor;
  int32_t axis = 0;
  bool backwards = false;
};

// Element `index` of a list attribute; 0 if the list is absent.
absl::StatusOr<int64_t> Listed(const Node& node, absl::string_view attribute,
                               size_t index) {
  EK_ASSIGN_OR_RETURN(const std::vector<int64_t> values, node.Ints(attribute));
  if (values.empty()) return 0;
  if (index < values.size()) return values[index];
  return node.Invalid(absl::StrCat(attribute, " has too few values"));
}

absl::StatusOr<Scanned> ReadScanned(const Node& node, const Builder& builder,
                                    int first, size_t index) {
  Scanned scanned;
  EK_ASSIGN_OR_RETURN(scanned.x,
                      builder.Input(node, first + static_cast<int>(index)));
  EK_ASSIGN_OR_RETURN(const int64_t axis,
                      Listed(node, "scan_input_axes", index));
  EK_ASSIGN_OR_RETURN(scanned.axis,
                      CheckedAxis(node, axis, builder.rank(scanned.x)));
  EK_ASSIGN_OR_RETURN(const int64_t direction,
                      Listed(node, "scan_input_directions", index));
  scanned.backwards = direction != 0;
  return scanned;
}

absl::StatusOr<TensorId> SliceAt(const Node& node, Builder& builder,
                                 const Scanned& scanned, size_t index,
                                 int64_t round) {
  std::vector<int64_t> extent = builder.shape(scanned.x);
  std::vector<int64_t> begin(extent.size(), 0);
  const std::vector<int64_t> ones(extent.size(), 1);
  begin[scanned.axis] =
      scanned.backwards ? extent[scanned.axis] - 1 - round : round;
  extent[scanned.axis] = 1;
  const std::string role = absl::StrCat("slice-", index, "-", round);
  EK_ASSIGN_OR_RETURN(
      const TensorId slice,
      builder.Emit(node, role, SliceOp(begin, extent, ones), {scanned.x}));
  extent.erase(extent.begin() + scanned.axis);
  return builder.Reshape(node, absl::StrCat(role, "-shaped"), slice,
                         std::move(extent));
}

absl::Status CheckOutputs(const Node& node, size_t scans) {
  for (size_t i = 0; i < scans; ++i) {
    EK_ASSIGN_OR_RETURN(const int64_t axis,
                        Listed(node, "scan_output_axes", i));
    EK_ASSIGN_OR_RETURN(const int64_t direction,
                        Listed(node, "scan_output_directions", i));
    if (axis == 0 && direction == 0) continue;
    return node.Unsupported("outputs along other axes or backwards",
                            "outputs along axis 0, in the order of the rounds",
                            "export with the loop unrolled");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status GraphWalk::ConvertScan(const Node& node) {
  const onnx::GraphProto* body = node.GraphAttribute("body");
  if (body == nullptr) return node.Invalid("no body");
  if (node.opset() < 9) {
    return node.Unsupported("a scan over a batch", "op set 9 and later",
                            "export it again with a newer op set");
  }
  EK_ASSIGN_OR_RETURN(const int64_t count, node.Int("num_scan_inputs", 0));
  if (count < 1 || count > node.num_inputs()) {
    return node.Invalid(absl::StrCat("num_scan_inputs is ", count));
  }
  const int states = node.num_inputs() - static_cast<int>(count);
  if (states > node.num_outputs()) {
    return node.Invalid("it has fewer outputs than states");
  }
  std::vector<TensorId> carried;
  for (int i = 0; i < states; ++i) {
    EK_ASSIGN_OR_RETURN(const TensorId state, builder_.Input(node, i));
    carried.push_back(state);
  }
  std::vector<Scanned> scanned;
  for (size_t i = 0; i < static_cast<size_t>(count); ++i) {
    EK_ASSIGN_OR_RETURN(const Scanned next,
                        ReadScanned(node, builder_, states, i));
    scanned.push_back(next);
    if (builder_.shape(next.x)[next.axis] !=
        builder_.shape(scanned[0].x)[scanned[0].axis]) {
      return node.Invalid("its inputs have slices of different number");
    }
  }
  std::vector<std::vector<TensorId>> scans(
      static_cast<size_t>(node.num_outputs() - states));
  EK_RETURN_IF_ERROR(CheckOutputs(node, scans.size()));
  const int64_t rounds = builder_.shape(scanned[0].x)[scanned[0].axis];
  for (int64_t round = 0; round < rounds; ++round) {
    EK_RETURN_IF_ERROR(
        CountInlined(node, 0, static_cast<int64_t>(scanned.size())));
    std::vector<TensorId> inputs = carried;
    for (size_t i = 0; i < scanned.size(); ++i) {
      EK_ASSIGN_OR_RETURN(const TensorId slice,
                          SliceAt(node, builder_, scanned[i], i, round));
      inputs.push_back(slice);
    }
    EK_ASSIGN_OR_RETURN(const std::vector<TensorId> results,
                        ConvertBody(node, *body, inputs));
    if (results.size() != carried.size() + scans.size()) {
      return node.Invalid("its outputs are not those of its body");
    }
    carried.assign(results.begin(), results.begin() + states);
    for (size_t i = 0; i < scans.size(); ++i) {
      scans[i].push_back(results[states + i]);
    }
  }
  for (int i = 0; i < states; ++i) {
    EK_RETURN_IF_ERROR(builder_.Bind(node, i, carried[i]));
  }
  return BindScans(node, states, scans);
}

}  // namespace edgekiln::compiler::onnx_import
