#include "compiler/passes/accumulator_graph.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/passes/split_requantization.h"

namespace edgekiln::compiler {
namespace {

// The op that gives each result, ascending, each once.
absl::StatusOr<std::vector<int32_t>> OpsOf(
    const Graph& graph, const std::vector<int32_t>& results) {
  const std::vector<int32_t> producers = Producers(graph);
  std::vector<int32_t> ops;
  for (const int32_t result : results) {
    if (result < 0 || result >= std::ssize(producers) ||
        producers[result] < 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          "an accumulator of tensor ", result, ", which no op gives"));
    }
    ops.push_back(producers[result]);
  }
  std::sort(ops.begin(), ops.end());
  ops.erase(std::unique(ops.begin(), ops.end()), ops.end());
  return ops;
}

}  // namespace

absl::StatusOr<AccumulatorGraph> AccumulatorGraph::Create(
    const Graph& graph, const Accumulators& accumulators) {
  AccumulatorGraph result;
  result.graph_ = graph;
  result.tensors_ = static_cast<int32_t>(graph.tensors.size());
  // An accumulator that the quantized graph already has needs no split.
  std::vector<int32_t> results;
  for (const v1::Program::Accumulator& accumulator : accumulators) {
    if (accumulator.tensor() < result.tensors_) continue;
    results.push_back(accumulator.result());
  }
  if (results.empty()) return result;
  EK_ASSIGN_OR_RETURN(const std::vector<int32_t> ops, OpsOf(graph, results));
  EK_RETURN_IF_ERROR(SplitRequantization(result.graph_, ops));
  const std::vector<int32_t> producers = Producers(result.graph_);
  for (const v1::Program::Accumulator& accumulator : accumulators) {
    if (accumulator.tensor() < result.tensors_) continue;
    const Op& requantize = result.graph_.ops[producers[accumulator.result()]];
    result.accumulators_[accumulator.tensor()] = requantize.inputs[0];
  }
  return result;
}

TensorId AccumulatorGraph::Find(int32_t tensor) const {
  if (tensor >= 0 && tensor < tensors_) return tensor;
  const auto found = accumulators_.find(tensor);
  return found == accumulators_.end() ? kNoTensor : found->second;
}

}  // namespace edgekiln::compiler
