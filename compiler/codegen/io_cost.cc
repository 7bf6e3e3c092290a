#include "compiler/codegen/io_cost.h"

#include <set>
#include <vector>

#include "base/status_macros.h"
#include "compiler/codegen/wall_cycles.h"
#include "compiler/passes/border_conversion.h"
#include "compiler/passes/integer_io.h"
#include "target/host_cost.h"
#include "target/op_variables.h"

namespace edgekiln::compiler {
namespace {

// Wall cycles of element-wise ops on a tensor, each rounded up as in
// simulation.
absl::StatusOr<int64_t> CyclesOf(const std::vector<v1::OpAttributes>& ops,
                                 const Tensor& tensor,
                                 const v1::Machine& machine,
                                 const target::HostCosts& costs) {
  int64_t sum = 0;
  const target::ShapeSpan shape = tensor.shape;
  for (const v1::OpAttributes& op : ops) {
    EK_ASSIGN_OR_RETURN(const target::OpVariables variables,
                        target::VariablesOf(op, {shape}, {shape}));
    EK_ASSIGN_OR_RETURN(const int64_t cycles,
                        costs.Cycles(target::OpAttributesName(op), variables));
    sum += WallCycles(cycles, machine.host_clock_hz(), machine);
  }
  return sum;
}

}  // namespace

absl::StatusOr<int64_t> IoConversionCycles(Graph graph,
                                           const v1::Machine& machine) {
  UseIntegerPorts(graph);
  if (graph.converted_inputs.empty() && graph.converted_outputs.empty()) {
    return 0;
  }
  EK_ASSIGN_OR_RETURN(const target::HostCosts costs,
                      target::HostCosts::Create(machine));
  int64_t sum = 0;
  for (const ConvertedPort& port : graph.converted_inputs) {
    const Tensor& tensor = graph.tensors[graph.inputs[port.port]];
    EK_ASSIGN_OR_RETURN(
        const int64_t cycles,
        CyclesOf(InputConversions(tensor, port), tensor, machine, costs));
    sum += cycles;
  }
  std::set<TensorId> counted;  // A tensor may be several outputs.
  for (const ConvertedPort& port : graph.converted_outputs) {
    const TensorId id = graph.outputs[port.port];
    if (!counted.insert(id).second) continue;
    const Tensor& tensor = graph.tensors[id];
    EK_ASSIGN_OR_RETURN(
        const int64_t cycles,
        CyclesOf(OutputConversions(tensor, port), tensor, machine, costs));
    sum += cycles;
  }
  return sum;
}

}  // namespace edgekiln::compiler
