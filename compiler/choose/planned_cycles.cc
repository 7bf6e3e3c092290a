#include "compiler/choose/planned_cycles.h"

#include "absl/status/status.h"
#include "base/status_macros.h"
#include "compiler/codegen/memory_map.h"
#include "compiler/codegen/plan_chip.h"

namespace edgekiln::compiler {

absl::StatusOr<std::optional<int64_t>> PlannedCycles(
    const Graph& float_graph, const v1::QuantizationNeeds& needs,
    const v1::QuantizationConfig& config, const ChosenChip& chip,
    MachineBackends& backends, EstimateMemo* memo) {
  EK_ASSIGN_OR_RETURN(const v1::Partition partition,
                      PlacedForm(float_graph, needs, config, chip, memo));
  EK_ASSIGN_OR_RETURN(const bool driven, IsDriven(partition, chip.machine));
  if (!driven) return std::optional<int64_t>();
  EK_ASSIGN_OR_RETURN(const Graph graph, GraphFromProto(partition.graph()));
  EK_ASSIGN_OR_RETURN(const SystemMemories memories,
                      SystemMemoriesOf(chip.machine));
  const auto planned =
      PlanChip(graph, partition, chip.machine, {}, memories.rams, backends);
  const absl::Status& status = planned.status();
  if (absl::IsResourceExhausted(status) || absl::IsUnimplemented(status) ||
      absl::IsOutOfRange(status)) {
    return std::optional<int64_t>();
  }
  EK_RETURN_IF_ERROR(status);
  return std::optional<int64_t>(planned->cycles);
}

}  // namespace edgekiln::compiler
