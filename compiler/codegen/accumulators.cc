#include "compiler/codegen/accumulators.h"

#include <algorithm>
#include <vector>

#include "compiler/passes/split_clamp.h"

namespace edgekiln::compiler {

void AddAccumulators(const Graph& graph, v1::Program* program) {
  const bool has_seconds =
      std::any_of(graph.ops.begin(), graph.ops.end(), [](const Op& op) {
        return op.attributes.has_requantize() || op.attributes.has_clip();
      });
  if (!has_seconds) return;
  Graph joined = graph;  // Constants stay shared.
  JoinClamps(joined);
  const auto unclipped = static_cast<TensorId>(joined.tensors.size());
  std::vector<bool> listed(graph.tensors.size(), false);
  for (const Op& op : graph.ops) {
    const bool second = op.attributes.has_requantize() ||
                        (op.attributes.has_clip() && op.inputs[0] >= unclipped);
    if (!second || listed[op.inputs[0]]) continue;
    listed[op.inputs[0]] = true;
    v1::Program::Accumulator* accumulator = program->add_accumulators();
    accumulator->set_tensor(op.inputs[0]);
    accumulator->set_result(op.outputs[0]);
  }
}

}  // namespace edgekiln::compiler
