#include "compiler/codegen/io_cost.h"

#include <set>
#include <vector>

#include "base/status_macros.h"
#include "compiler/passes/border_conversion.h"
#include "compiler/passes/integer_io.h"
#include "target/host_cost.h"

namespace edgekiln::compiler {
namespace {

// Each op in whole cycles of the wall clock, rounded up, as it is simulated.
absl::StatusOr<int64_t> CyclesOf(const std::vector<v1::OpAttributes>& ops,
                                 int64_t elements, const v1::Machine& machine) {
  int64_t sum = 0;
  for (const v1::OpAttributes& op : ops) {
    EK_ASSIGN_OR_RETURN(
        const int64_t cycles,
        target::HostCycles(machine, target::OpAttributesName(op), elements));
    const auto wall = static_cast<__int128>(cycles) * machine.clock_hz();
    const int64_t host_hz = machine.host_clock_hz();
    sum += static_cast<int64_t>((wall + host_hz - 1) / host_hz);
  }
  return sum;
}

}  // namespace

absl::StatusOr<int64_t> IoConversionCycles(Graph graph,
                                           const v1::Machine& machine) {
  UseIntegerPorts(graph);
  int64_t sum = 0;
  for (const ConvertedPort& port : graph.converted_inputs) {
    const Tensor& tensor = graph.tensors[graph.inputs[port.port]];
    EK_ASSIGN_OR_RETURN(const int64_t cycles,
                        CyclesOf(InputConversions(tensor, port),
                                 tensor.num_elements(), machine));
    sum += cycles;
  }
  std::set<TensorId> counted;  // A tensor may be several outputs.
  for (const ConvertedPort& port : graph.converted_outputs) {
    const TensorId id = graph.outputs[port.port];
    if (!counted.insert(id).second) continue;
    const Tensor& tensor = graph.tensors[id];
    EK_ASSIGN_OR_RETURN(const int64_t cycles,
                        CyclesOf(OutputConversions(tensor, port),
                                 tensor.num_elements(), machine));
    sum += cycles;
  }
  return sum;
}

}  // namespace edgekiln::compiler
