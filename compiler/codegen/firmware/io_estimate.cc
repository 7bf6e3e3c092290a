#include "compiler/codegen/firmware/io_estimate.h"

#include <set>
#include <vector>

#include "compiler/passes/border_conversion.h"
#include "compiler/passes/integer_io.h"

namespace edgekiln::compiler {
namespace {

// Of one value, measured with gcc -O2 and runtime.c on the simulated core:
// both go by way of float64.
struct Cost {
  int64_t quantize;
  int64_t dequantize;
};

Cost CostOn(v1::Processor processor) {
  switch (processor) {
    case v1::RV32IMF:
      return {460, 175};
    case v1::CORTEX_M7:
    case v1::CORTEX_M55:
    case v1::X86_64:
      return {50, 20};  // They have float64; assumed.
    default:
      return {500, 175};
  }
}

// Of other conversions, as between integers.
constexpr int64_t kOtherCost = 30;

int64_t CostOf(const std::vector<v1::OpAttributes>& ops, const Cost& cost) {
  int64_t sum = 0;
  for (const v1::OpAttributes& op : ops) {
    sum += op.has_quantize()     ? cost.quantize
           : op.has_dequantize() ? cost.dequantize
                                 : kOtherCost;
  }
  return sum;
}

}  // namespace

int64_t IoConversionInstructions(Graph graph, v1::Processor processor) {
  const Cost cost = CostOn(processor);
  UseIntegerPorts(graph);
  int64_t sum = 0;
  for (const ConvertedPort& port : graph.converted_inputs) {
    const Tensor& tensor = graph.tensors[graph.inputs[port.port]];
    sum += tensor.num_elements() * CostOf(InputConversions(tensor, port), cost);
  }
  std::set<TensorId> counted;  // A tensor may be several outputs.
  for (const ConvertedPort& port : graph.converted_outputs) {
    const TensorId id = graph.outputs[port.port];
    if (!counted.insert(id).second) continue;
    const Tensor& tensor = graph.tensors[id];
    sum +=
        tensor.num_elements() * CostOf(OutputConversions(tensor, port), cost);
  }
  return sum;
}

}  // namespace edgekiln::compiler
