#include "compiler/codegen/wall_cycles.h"

#include <vector>

#include "base/status_macros.h"
#include "target/op_variables.h"

namespace edgekiln::compiler {

int64_t WallCycles(int64_t cycles, int64_t clock_hz,
                   const v1::Machine& machine) {
  const auto wall = static_cast<__int128>(cycles) * machine.clock_hz();
  return static_cast<int64_t>((wall + clock_hz - 1) / clock_hz);
}

absl::StatusOr<int64_t> HostOpCycles(const Graph& graph, const Op& op,
                                     const v1::Machine& machine,
                                     const target::HostCosts& costs) {
  if (op.attributes.has_reshape()) return 0;
  const auto shapes = [&](const std::vector<TensorId>& tensors) {
    std::vector<target::ShapeSpan> found;
    for (const TensorId tensor : tensors) {
      found.push_back(tensor == kNoTensor
                          ? target::ShapeSpan()
                          : target::ShapeSpan(graph.tensors[tensor].shape));
    }
    return found;
  };
  EK_ASSIGN_OR_RETURN(const target::OpVariables variables,
                      target::VariablesOf(op.attributes, shapes(op.inputs),
                                          shapes(op.outputs)));
  EK_ASSIGN_OR_RETURN(
      const int64_t cycles,
      costs.Cycles(target::OpAttributesName(op.attributes), variables));
  return WallCycles(cycles, machine.host_clock_hz(), machine);
}

}  // namespace edgekiln::compiler
