#include <map>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "compiler/codegen/backends.h"
#include "compiler/codegen/compile.h"
#include "compiler/codegen/host_rooms_fit.h"
#include "compiler/codegen/machine_backends.h"
#include "compiler/codegen/memory_map.h"
#include "compiler/codegen/plan_chip.h"
#include "compiler/codegen/residency.h"
#include "target/layout.h"

namespace edgekiln::compiler {
namespace {

// All memory of the chip, and every border densely in RAM: regions follow one
// another, and what passes between them goes through system memory.
Budget WholeChip(const Region& region, const v1::Machine& machine,
                 int32_t ram) {
  Budget budget;
  for (const v1::ResolvedMemory& memory : machine.memories()) {
    budget.memory_bytes.push_back(memory.capacity_bytes());
  }
  std::vector<TensorId> borders = OutputsOf(region);
  borders.insert(borders.end(), region.inputs.begin(), region.inputs.end());
  for (const TensorId id : borders) {
    const Tensor& tensor = region.graph->tensors[id];
    Budget::Border border;
    border.tensor = id;
    border.memory = ram;
    border.layout =
        target::DenseLayout(tensor.shape, ElementBytes(tensor.type));
    budget.borders.push_back(std::move(border));
  }
  return budget;
}

absl::Status EnginesMixed(const v1::Machine::Engine& streams) {
  return MakeError(
      absl::StatusCode::kUnimplemented,
      {.fault = Fault::kUser,
       .reason = "ENGINES_MIXED",
       .what = "the target has engines that run streams beside engines that "
               "the host drives",
       .where = absl::StrCat("engine ", streams.name()),
       .need = "engines of one of the two kinds",
       .fix = "remove the patterns of one kind from the target file"});
}

}  // namespace

absl::StatusOr<v1::RegionPlans> TilePartition(const v1::Partition& partition,
                                              const v1::Machine& machine,
                                              const v1::TileRecipe& recipe) {
  EK_ASSIGN_OR_RETURN(const Graph graph, GraphFromProto(partition.graph()));
  return TilePartition(graph, partition, machine, recipe);
}

absl::StatusOr<v1::RegionPlans> TilePartition(const Graph& graph,
                                              const v1::Partition& partition,
                                              const v1::Machine& machine,
                                              const v1::TileRecipe& recipe) {
  if (partition.placements_size() != static_cast<int>(graph.ops.size())) {
    return absl::InvalidArgumentError("the partition misses placements");
  }
  EK_ASSIGN_OR_RETURN(const SystemMemories memories, SystemMemoriesOf(machine));
  EK_RETURN_IF_ERROR(CheckHostRooms(graph, partition, machine, recipe));
  // Ops of each region, in order.
  std::map<int32_t, std::vector<int32_t>> regions;
  std::map<int32_t, int32_t> engines;
  for (int32_t i = 0; i < partition.placements_size(); ++i) {
    const v1::Partition::Placement& placement = partition.placements(i);
    if (placement.op() != i) {
      return absl::InvalidArgumentError("placements are out of order");
    }
    if (placement.engine() < 0) continue;
    regions[placement.subgraph()].push_back(i);
    engines[placement.subgraph()] = placement.engine();
  }
  const RegionMaker maker(graph);
  v1::RegionPlans plans;
  for (auto& [index, ops] : regions) {
    const int32_t engine = engines[index];
    EK_ASSIGN_OR_RETURN(const EngineBackend* const backend,
                        FindBackend(machine, engine));
    if (backend->HostDriven()) continue;
    const Region region = maker.Make(std::move(ops));
    EK_ASSIGN_OR_RETURN(
        v1::RegionPlan plan,
        backend->Plan(region, WholeChip(region, machine, memories.rams[0]),
                      machine, engine, DecisionsFor(recipe, engine)));
    plan.mutable_ops()->Add(region.ops.begin(), region.ops.end());
    *plans.add_regions() = std::move(plan);
  }
  EK_ASSIGN_OR_RETURN(const bool driven, IsDriven(partition, machine));
  if (!driven) return plans;
  if (!plans.regions().empty()) {
    return EnginesMixed(machine.engines(plans.regions(0).engine()));
  }
  MachineBackends backends(machine);
  EK_ASSIGN_OR_RETURN(ChipPlan plan, PlanChip(graph, partition, machine, recipe,
                                              memories.rams, backends));
  return std::move(plan.plans);
}

}  // namespace edgekiln::compiler
