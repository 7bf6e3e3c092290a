#include "compiler/codegen/wall_cycles.h"

#include <vector>

#include "base/status_macros.h"
#include "compiler/ir/shapes.h"
#include "target/op_variables.h"

namespace edgekiln::compiler {
namespace {

absl::StatusOr<int64_t> CyclesOf(const v1::OpAttributes& attributes,
                                 const std::vector<target::ShapeSpan>& inputs,
                                 const std::vector<target::ShapeSpan>& outputs,
                                 const v1::Machine& machine,
                                 const target::HostCosts& costs) {
  EK_ASSIGN_OR_RETURN(const target::OpVariables variables,
                      target::VariablesOf(attributes, inputs, outputs));
  EK_ASSIGN_OR_RETURN(
      const int64_t cycles,
      costs.Cycles(target::OpAttributesName(attributes), variables));
  return WallCycles(cycles, machine.host_clock_hz(), machine);
}

}  // namespace

int64_t WallCycles(int64_t cycles, int64_t clock_hz,
                   const v1::Machine& machine) {
  const auto wall = static_cast<__int128>(cycles) * machine.clock_hz();
  return static_cast<int64_t>((wall + clock_hz - 1) / clock_hz);
}

absl::StatusOr<int64_t> HostOpCycles(const Graph& graph, const Op& op,
                                     const v1::Machine& machine,
                                     const target::HostCosts& costs) {
  if (op.attributes.has_reshape()) return 0;
  return CyclesOf(op.attributes, ShapesOf(graph, op.inputs),
                  ShapesOf(graph, op.outputs), machine, costs);
}

absl::StatusOr<int64_t> HostOpCycles(const HostForm& form,
                                     const v1::Machine& machine,
                                     const target::HostCosts& costs) {
  std::vector<target::ShapeSpan> inputs;
  for (const Tensor& input : form.inputs) inputs.emplace_back(input.shape);
  return CyclesOf(form.attributes, inputs,
                  {target::ShapeSpan(form.output.shape)}, machine, costs);
}

}  // namespace edgekiln::compiler
