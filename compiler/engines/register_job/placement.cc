#include "compiler/engines/register_job/placement.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/engines/register_job/layouts.h"
#include "compiler/engines/register_job/tiles.h"
#include "target/layout.h"

namespace edgekiln::compiler::register_job {

using target::JobOperand;
using target::JobVariables;

absl::StatusOr<v1::Layout> LayoutOf(const Placement& placement,
                                    JobOperand operand,
                                    const JobVariables& variables) {
  return placement.chip->view().OperandLayout(placement.job, operand,
                                              variables);
}

absl::StatusOr<v1::Layout> WholeLayout(const Placement& placement,
                                       JobOperand operand) {
  EK_ASSIGN_OR_RETURN(
      const v1::Layout layout,
      LayoutOf(placement, operand, VariablesOfAll(placement.operation)));
  return Canonical(layout);
}

absl::StatusOr<Placement> PlaceOperands(const Chip& chip, const Region& region,
                                        int32_t ram,
                                        const Residents& residents) {
  if (region.ops.size() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("a region of ", region.ops.size(),
                     " ops: the host starts them one by one"));
  }
  Placement placement;
  placement.chip = &chip;
  EK_ASSIGN_OR_RETURN(placement.operation,
                      OperationOf(*region.graph, region.ops[0]));
  Operation& operation = placement.operation;
  EK_ASSIGN_OR_RETURN(placement.job, chip.JobOf(operation.kernel));
  operation.variables[target::JobVariable::kKernel] =
      chip.view().jobs().jobs(placement.job).code();
  const auto place = [&](TensorId tensor, JobOperand role, const Image& image,
                         int64_t element_bytes,
                         Operand& operand) -> absl::Status {
    if (tensor == kNoTensor) return absl::OkStatus();
    operand.tensor = region.storage[tensor];
    const auto resident = residents.find(operand.tensor);
    operand.resident = resident != residents.end();
    if (!operand.resident) {
      operand.memory = ram;
      operand.whole =
          target::DenseLayout({image.h, image.w, image.c}, element_bytes);
      return absl::OkStatus();
    }
    operand.memory = resident->second;
    if (operand.memory != chip.memory()) {
      return absl::UnimplementedError(
          absl::StrCat("tensor ", region.graph->tensors[tensor].name,
                       " is resident in memory ", operand.memory,
                       ", where the engine does not reach it"));
    }
    EK_ASSIGN_OR_RETURN(operand.whole, WholeLayout(placement, role));
    return absl::OkStatus();
  };
  EK_RETURN_IF_ERROR(place(operation.input, JobOperand::kIn, operation.in,
                           operation.input_bytes, placement.input));
  operation.takes_whole_axes = placement.input.resident;
  EK_RETURN_IF_ERROR(place(operation.input2, JobOperand::kIn2, operation.in,
                           operation.input_bytes, placement.input2));
  EK_RETURN_IF_ERROR(place(operation.output, JobOperand::kOut, operation.out,
                           operation.output_bytes, placement.output));
  return placement;
}

std::vector<const Operand*> ResidentsOf(const Placement& placement) {
  std::vector<const Operand*> residents;
  for (const Operand* operand :
       {&placement.input, &placement.input2, &placement.output}) {
    if (!operand->present() || !operand->resident) continue;
    if (operand == &placement.input2 && placement.input.resident &&
        placement.input.tensor == operand->tensor) {
      continue;
    }
    residents.push_back(operand);
  }
  return residents;
}

int64_t ResidentBytes(const Placement& placement) {
  int64_t bytes = 0;
  for (const Operand* operand : ResidentsOf(placement)) {
    bytes += placement.chip->Aligned(operand->whole.size_bytes());
  }
  return bytes;
}

}  // namespace edgekiln::compiler::register_job
