// Branches and loops that constants decide.

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/frontend/onnx/graph_walk.h"
#include "compiler/frontend/onnx/ir_ops.h"
#include "compiler/frontend/onnx/model_error.h"

namespace edgekiln::compiler::onnx_import {

absl::StatusOr<std::vector<TensorId>> GraphWalk::ConvertBody(
    const Node& node, const onnx::GraphProto& body,
    const std::vector<TensorId>& inputs) {
  if (static_cast<size_t>(body.input_size()) != inputs.size()) {
    return node.Invalid(absl::StrCat("its body has ", body.input_size(),
                                     " inputs, not ", inputs.size()));
  }
  EK_RETURN_IF_ERROR(CountInlined(
      node, static_cast<int64_t>(body.ByteSizeLong()), body.output_size()));
  builder_.PushScope(ScopeName(node), /*sees_outer=*/true);
  for (size_t i = 0; i < inputs.size(); ++i) {
    EK_RETURN_IF_ERROR(builder_.Define(
        node, body.input(static_cast<int>(i)).name(), inputs[i]));
  }
  EK_RETURN_IF_ERROR(AddInitializers(body, {}, files_, builder_));
  ++depth_;
  EK_RETURN_IF_ERROR(ConvertGraph(body));
  --depth_;
  std::vector<TensorId> results;
  for (const onnx::ValueInfoProto& output : body.output()) {
    const TensorId id = builder_.value(output.name());
    if (id == kNoTensor) {
      return node.Invalid(
          absl::StrCat("its body does not make '", output.name(), "'"));
    }
    results.push_back(id);
  }
  builder_.PopScope();
  return results;
}

absl::Status GraphWalk::ConvertIf(const Node& node) {
  EK_ASSIGN_OR_RETURN(const double condition, builder_.ConstantNumber(node, 0));
  const absl::string_view branch =
      condition != 0 ? "then_branch" : "else_branch";
  const onnx::GraphProto* body = node.GraphAttribute(branch);
  if (body == nullptr) return node.Invalid(absl::StrCat("no ", branch));
  EK_ASSIGN_OR_RETURN(const std::vector<TensorId> results,
                      ConvertBody(node, *body, {}));
  if (static_cast<int>(results.size()) != node.num_outputs()) {
    return node.Invalid(
        absl::StrCat("the branch has ", results.size(), " outputs"));
  }
  for (int i = 0; i < node.num_outputs(); ++i) {
    EK_RETURN_IF_ERROR(builder_.Bind(node, i, results[i]));
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> GraphWalk::LoopRound(const Node& node,
                                          const onnx::GraphProto& body,
                                          int64_t round,
                                          std::vector<TensorId>& state) {
  std::vector<TensorId> inputs = {
      builder_.AddConstant(Int64Constant("round", {}, {round})),
      builder_.AddConstant(NumberConstant("more", v1::BOOL, 1))};
  inputs.insert(inputs.end(), state.begin(), state.end());
  EK_ASSIGN_OR_RETURN(std::vector<TensorId> results,
                      ConvertBody(node, body, inputs));
  if (results.empty() || results.size() < 1 + state.size()) {
    return node.Invalid("its body has too few outputs");
  }
  const Tensor& more = builder_.tensor(results[0]);
  if (!more.is_constant()) {
    return node.Unsupported("whether it goes on is computed at run time",
                            "a constant number of rounds",
                            "export with the loop unrolled");
  }
  const bool again = more.data->find_first_not_of('\0') != std::string::npos;
  state.assign(results.begin() + 1, results.end());
  return again;
}

absl::Status GraphWalk::BindScans(
    const Node& node, int first_output,
    const std::vector<std::vector<TensorId>>& scans) {
  for (size_t i = 0; i < scans.size(); ++i) {
    const int output = first_output + static_cast<int>(i);
    if (!node.has_output(output)) continue;
    std::vector<TensorId> rows;
    for (const TensorId value : scans[i]) {
      std::vector<int64_t> shape = builder_.shape(value);
      shape.insert(shape.begin(), 1);
      EK_ASSIGN_OR_RETURN(
          const TensorId row,
          builder_.Reshape(node, absl::StrCat("row-", i, "-", rows.size()),
                           value, std::move(shape)));
      rows.push_back(row);
    }
    if (rows.empty()) {
      return node.Unsupported("it has no round, so its output has no shape",
                              "one round", "export without the loop");
    }
    TensorId joined = rows[0];
    if (rows.size() > 1) {
      EK_ASSIGN_OR_RETURN(joined, builder_.Emit(node, absl::StrCat("rows-", i),
                                                ConcatOp(0), rows));
    }
    EK_RETURN_IF_ERROR(builder_.Bind(node, output, joined));
  }
  return absl::OkStatus();
}

absl::Status GraphWalk::ConvertLoop(const Node& node) {
  const onnx::GraphProto* body = node.GraphAttribute("body");
  if (body == nullptr) return node.Invalid("no body");
  int64_t rounds = kMaxNodes + 1;
  if (node.has_input(0)) {
    EK_ASSIGN_OR_RETURN(const std::vector<int64_t> given,
                        builder_.ConstantIntegers(node, 0));
    if (given.size() != 1) return node.Invalid("no number of rounds");
    rounds = given[0];
  }
  bool more = true;
  if (node.has_input(1)) {
    EK_ASSIGN_OR_RETURN(const double condition,
                        builder_.ConstantNumber(node, 1));
    more = condition != 0;
  }
  std::vector<TensorId> carried;
  for (int i = 2; i < node.num_inputs(); ++i) {
    EK_ASSIGN_OR_RETURN(const TensorId value, builder_.Input(node, i));
    carried.push_back(value);
  }
  const size_t states = carried.size();
  if (static_cast<size_t>(node.num_outputs()) < states) {
    return node.Invalid("it has fewer outputs than states");
  }
  std::vector<std::vector<TensorId>> scans(
      static_cast<size_t>(node.num_outputs()) - states);
  for (int64_t round = 0; round < rounds && more; ++round) {
    EK_ASSIGN_OR_RETURN(more, LoopRound(node, *body, round, carried));
    if (carried.size() != states + scans.size()) {
      return node.Invalid("its outputs are not those of its body");
    }
    for (size_t i = 0; i < scans.size(); ++i) {
      scans[i].push_back(carried[states + i]);
    }
    carried.resize(states);
  }
  for (size_t i = 0; i < states; ++i) {
    EK_RETURN_IF_ERROR(builder_.Bind(node, static_cast<int>(i), carried[i]));
  }
  return BindScans(node, static_cast<int>(states), scans);
}

}  // namespace edgekiln::compiler::onnx_import
