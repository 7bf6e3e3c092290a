#include "compiler/codegen/accumulators.h"

#include <vector>

namespace edgekiln::compiler {

void AddAccumulators(const Graph& graph, v1::Program* program) {
  std::vector<bool> listed(graph.tensors.size(), false);
  for (const Op& op : graph.ops) {
    if (!op.attributes.has_requantize() || listed[op.inputs[0]]) continue;
    listed[op.inputs[0]] = true;
    v1::Program::Accumulator* accumulator = program->add_accumulators();
    accumulator->set_tensor(op.inputs[0]);
    accumulator->set_result(op.outputs[0]);
  }
}

}  // namespace edgekiln::compiler
