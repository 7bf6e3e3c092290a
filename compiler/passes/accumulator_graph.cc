#include "compiler/passes/accumulator_graph.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/passes/split_clamp.h"
#include "compiler/passes/split_requantization.h"

namespace edgekiln::compiler {
namespace {

// The ops that give the results of sums, or of the others, ascending, each
// once.
absl::StatusOr<std::vector<int32_t>> OpsOf(
    const Graph& graph, absl::Span<const Intermediate> intermediates,
    bool sums) {
  const std::vector<int32_t> producers = Producers(graph);
  std::vector<int32_t> ops;
  for (const Intermediate& each : intermediates) {
    if (each.sums != sums) continue;
    if (each.result < 0 || each.result >= std::ssize(producers) ||
        producers[each.result] < 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          "an intermediate of tensor ", each.result, ", which no op gives"));
    }
    ops.push_back(producers[each.result]);
  }
  std::sort(ops.begin(), ops.end());
  ops.erase(std::unique(ops.begin(), ops.end()), ops.end());
  return ops;
}

}  // namespace

std::vector<Intermediate> IntermediatesOf(const v1::Program& program) {
  absl::flat_hash_map<int32_t, int32_t> element_bits;
  for (const v1::Program::Tap& tap : program.taps()) {
    if (tap.layout() < 0 || tap.layout() >= program.layouts_size()) continue;
    element_bits[tap.tensor()] = program.layouts(tap.layout()).element_bits();
  }
  std::vector<Intermediate> intermediates;
  for (const v1::Program::Accumulator& each : program.accumulators()) {
    const auto found = element_bits.find(each.tensor());
    intermediates.push_back(
        {.tensor = each.tensor(),
         .result = each.result(),
         .sums = found == element_bits.end() || found->second == 32});
  }
  return intermediates;
}

absl::StatusOr<AccumulatorGraph> AccumulatorGraph::Create(
    const Graph& graph, absl::Span<const Intermediate> intermediates) {
  AccumulatorGraph result;
  result.graph_ = graph;
  result.tensors_ = static_cast<int32_t>(graph.tensors.size());
  // One that the quantized graph already has needs no split.
  std::vector<Intermediate> added;
  for (const Intermediate& each : intermediates) {
    if (each.tensor >= result.tensors_) added.push_back(each);
  }
  EK_ASSIGN_OR_RETURN(const std::vector<int32_t> sums,
                      OpsOf(graph, added, /*sums=*/true));
  EK_RETURN_IF_ERROR(SplitRequantization(result.graph_, sums));
  EK_ASSIGN_OR_RETURN(const std::vector<int32_t> clamps,
                      OpsOf(result.graph_, added, /*sums=*/false));
  EK_RETURN_IF_ERROR(SplitClamps(result.graph_, clamps));
  const std::vector<int32_t> producers = Producers(result.graph_);
  for (const Intermediate& each : added) {
    const Op& second = result.graph_.ops[producers[each.result]];
    result.intermediates_[each.tensor] = second.inputs[0];
  }
  return result;
}

TensorId AccumulatorGraph::Find(int32_t tensor) const {
  if (tensor >= 0 && tensor < tensors_) return tensor;
  const auto found = intermediates_.find(tensor);
  return found == intermediates_.end() ? kNoTensor : found->second;
}

}  // namespace edgekiln::compiler
