#include "compiler/passes/op_halves.h"

#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "compiler/passes/graph_edit.h"

namespace edgekiln::compiler {

void SplitIntoHalves(Graph& graph, std::vector<std::optional<OpHalves>> halves,
                     const HalfNames& names) {
  FreshNames fresh(graph);
  std::vector<Op> rewritten;
  rewritten.reserve(graph.ops.size());
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    rewritten.push_back(std::move(graph.ops[i]));
    if (!halves[i]) continue;
    Op& op = rewritten.back();
    Tensor& between = halves[i]->between;
    between.name = fresh.TensorName(
        absl::StrCat(graph.tensors[op.outputs[0]].name, names.between));
    const auto id = static_cast<TensorId>(graph.tensors.size());
    graph.tensors.push_back(std::move(between));
    Op second;
    second.id = fresh.OpId(absl::StrCat(op.id, names.second));
    second.name = op.name;
    second.attributes = std::move(halves[i]->second);
    second.inputs = {id};
    second.outputs = {op.outputs[0]};
    op.attributes = std::move(halves[i]->first);
    op.outputs = {id};
    rewritten.push_back(std::move(second));
  }
  graph.ops = std::move(rewritten);
}

std::vector<bool> JoinHalves(
    Graph& graph,
    absl::FunctionRef<std::optional<Op>(const Op& first, const Op& second)>
        joined) {
  const std::vector<int32_t> producers = Producers(graph);
  const std::vector<std::vector<int32_t>> readers = Consumers(graph);
  std::vector<bool> is_output(graph.tensors.size(), false);
  for (const TensorId output : graph.outputs) is_output[output] = true;
  std::vector<std::optional<Op>> whole(graph.ops.size());
  std::vector<bool> gone(graph.ops.size(), false);
  auto kept = static_cast<TensorId>(graph.tensors.size());
  auto next = static_cast<int32_t>(graph.ops.size());  // First half.
  for (; kept > 0; --kept) {
    const TensorId last = kept - 1;
    const int32_t first = producers[last];
    if (first < 0 || first >= next || readers[last].size() != 1 ||
        is_output[last]) {
      break;
    }
    const int32_t second = readers[last][0];
    if (second != first + 1) break;
    whole[first] = joined(graph.ops[first], graph.ops[second]);
    if (!whole[first]) break;
    gone[second] = true;
    next = first;
  }
  graph.tensors.resize(kept);
  std::vector<Op> rewritten;
  std::vector<bool> was_joined;
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    if (gone[i]) continue;
    was_joined.push_back(whole[i].has_value());
    rewritten.push_back(whole[i] ? *std::move(whole[i])
                                 : std::move(graph.ops[i]));
  }
  graph.ops = std::move(rewritten);
  return was_joined;
}

}  // namespace edgekiln::compiler
