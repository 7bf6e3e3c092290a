#include "compiler/codegen/wall_cycles.h"

#include <vector>

#include "base/status_macros.h"
#include "target/host_cost.h"

namespace edgekiln::compiler {

v1::TensorType TypeOf(const Tensor& tensor) {
  v1::TensorType type;
  type.set_name(tensor.name);
  type.set_element_type(tensor.type);
  for (const int64_t extent : tensor.shape) type.add_shape(extent);
  if (tensor.quantization) {
    v1::Quantization* quantization = type.mutable_quantization();
    for (const float s : tensor.quantization->scale) {
      quantization->add_scale(s);
    }
    for (const int32_t z : tensor.quantization->zero_point) {
      quantization->add_zero_point(z);
    }
    quantization->set_axis(tensor.quantization->axis);
  }
  return type;
}

int64_t WallCycles(int64_t cycles, int64_t clock_hz,
                   const v1::Machine& machine) {
  const auto wall = static_cast<__int128>(cycles) * machine.clock_hz();
  return static_cast<int64_t>((wall + clock_hz - 1) / clock_hz);
}

absl::StatusOr<int64_t> HostOpCycles(const Graph& graph, const Op& op,
                                     const v1::Machine& machine) {
  if (op.attributes.has_reshape()) return 0;
  std::vector<v1::TensorType> types;
  types.reserve(op.inputs.size() + op.outputs.size());
  const auto add = [&](TensorId tensor) -> const v1::TensorType* {
    if (tensor == kNoTensor) return nullptr;
    return &types.emplace_back(TypeOf(graph.tensors[tensor]));
  };
  std::vector<const v1::TensorType*> inputs;
  std::vector<const v1::TensorType*> outputs;
  for (const TensorId input : op.inputs) inputs.push_back(add(input));
  for (const TensorId output : op.outputs) outputs.push_back(add(output));
  EK_ASSIGN_OR_RETURN(const int64_t elements,
                      target::HostElements(op.attributes, inputs, outputs));
  EK_ASSIGN_OR_RETURN(
      const int64_t cycles,
      target::HostCycles(machine, target::OpAttributesName(op.attributes),
                         elements));
  return WallCycles(cycles, machine.host_clock_hz(), machine);
}

}  // namespace edgekiln::compiler
