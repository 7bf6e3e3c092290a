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

// A list attribute of one value each; zeros if it is absent.
absl::StatusOr<std::vector<int64_t>> Listed(const Node& node,
                                            absl::string_view attribute,
                                            size_t count) {
  EK_ASSIGN_OR_RETURN(std::vector<int64_t> values, node.Ints(attribute));
  if (values.empty()) values.resize(count, 0);
  if (values.size() >= count) return values;
  return node.Invalid(absl::StrCat(attribute, " has too few values"));
}

// The last `count` inputs.
absl::StatusOr<std::vector<Scanned>> ReadScanned(const Node& node,
                                                 const Builder& builder,
                                                 size_t count) {
  EK_ASSIGN_OR_RETURN(const std::vector<int64_t> axes,
                      Listed(node, "scan_input_axes", count));
  EK_ASSIGN_OR_RETURN(const std::vector<int64_t> directions,
                      Listed(node, "scan_input_directions", count));
  const int first = node.num_inputs() - static_cast<int>(count);
  std::vector<Scanned> all(count);
  for (size_t i = 0; i < count; ++i) {
    EK_ASSIGN_OR_RETURN(all[i].x,
                        builder.Input(node, first + static_cast<int>(i)));
    EK_ASSIGN_OR_RETURN(all[i].axis,
                        CheckedAxis(node, axes[i], builder.rank(all[i].x)));
    all[i].backwards = directions[i] != 0;
    if (builder.shape(all[i].x)[all[i].axis] !=
        builder.shape(all[0].x)[all[0].axis]) {
      return node.Invalid("its inputs have slices of different number");
    }
  }
  return all;
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
  EK_ASSIGN_OR_RETURN(const std::vector<int64_t> axes,
                      Listed(node, "scan_output_axes", scans));
  EK_ASSIGN_OR_RETURN(const std::vector<int64_t> directions,
                      Listed(node, "scan_output_directions", scans));
  for (size_t i = 0; i < scans; ++i) {
    if (axes[i] == 0 && directions[i] == 0) continue;
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
  EK_ASSIGN_OR_RETURN(const std::vector<Scanned> scanned,
                      ReadScanned(node, builder_, static_cast<size_t>(count)));
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
