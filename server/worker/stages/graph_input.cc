#include "server/worker/stages/graph_input.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace edgekiln::server {

using compiler::Graph;
using compiler::InterpreterOptions;

absl::StatusOr<Graph> GraphOf(const v1::Graph& stored) {
  absl::StatusOr<Graph> graph = compiler::GraphFromProto(stored);
  if (graph.ok()) return graph;
  return absl::InternalError(absl::StrCat("a stage was handed a bad graph: ",
                                          graph.status().message()));
}

absl::StatusOr<std::shared_ptr<const Graph>> GraphInput(
    const StageInputs& inputs) {
  const auto read = [&]() -> absl::StatusOr<std::shared_ptr<Graph>> {
    EK_ASSIGN_OR_RETURN(const auto stored,
                        inputs.ParseLarge<v1::Graph>("graph"));
    EK_ASSIGN_OR_RETURN(Graph graph, GraphOf(*stored));
    return std::make_shared<Graph>(std::move(graph));
  };
  return inputs.Prepared<Graph>({"graph"}, "", read);
}

absl::StatusOr<std::shared_ptr<compiler::Interpreter>> ReferenceOf(
    const StageInputs& inputs, const Graph& graph,
    InterpreterOptions::Keep keep, absl::string_view form) {
  const auto create =
      [&]() -> absl::StatusOr<std::shared_ptr<compiler::Interpreter>> {
    return compiler::Interpreter::Create(graph, {.keep = keep});
  };
  const bool all = keep == InterpreterOptions::Keep::kAllTensors;
  return inputs.Prepared<compiler::Interpreter>(
      {"graph"}, absl::StrCat(all ? "all tensors" : "outputs", form), create);
}

std::vector<v1::TensorType> TypesOf(
    const compiler::Graph& graph,
    const std::vector<compiler::TensorId>& tensors) {
  std::vector<v1::TensorType> types;
  types.reserve(tensors.size());
  for (const compiler::TensorId tensor : tensors) {
    types.push_back(TypeOf(graph.tensors[static_cast<size_t>(tensor)]));
  }
  return types;
}

namespace {

bool IsFloat(const compiler::Tensor& tensor) {
  return tensor.type == v1::FLOAT16 || tensor.type == v1::FLOAT32 ||
         tensor.type == v1::FLOAT64;
}

}  // namespace

bool IsQuantized(const compiler::Graph& graph) {
  // Pairs of Quantize and Dequantize around float ops count: simplification
  // moves the ops into the integers.
  if (std::any_of(graph.tensors.begin(), graph.tensors.end(),
                  [](const compiler::Tensor& tensor) {
                    return !tensor.is_constant() && tensor.quantization;
                  })) {
    return true;
  }
  bool multiplies = false;
  for (const compiler::Op& op : graph.ops) {
    const v1::OpAttributes& a = op.attributes;
    if (!a.has_conv2d() && !a.has_depthwise_conv2d() &&
        !a.has_fully_connected() && !a.has_mat_mul()) {
      continue;
    }
    multiplies = true;
    if (IsFloat(graph.tensors[static_cast<size_t>(op.inputs[0])])) return false;
  }
  // Without products: logic and integer arithmetic have no ranges to learn.
  return multiplies ||
         std::none_of(graph.tensors.begin(), graph.tensors.end(), IsFloat);
}

}  // namespace edgekiln::server
