#include "compiler/codegen/plan_chip.h"

#include <optional>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/status_macros.h"
#include "compiler/codegen/backends.h"
#include "compiler/codegen/residency.h"
#include "compiler/codegen/rooms.h"
#include "compiler/codegen/turns.h"

namespace edgekiln::compiler {
namespace {

// Eighths of each memory that plans of ops may fill.
constexpr int kShares[] = {8, 7, 6, 4};
// How far ahead works may begin.
constexpr int32_t kWindows[] = {16, 4, 1, 0, kDrained};

std::vector<int64_t> ShareOf(const v1::Machine& machine, int eighths) {
  std::vector<int64_t> bytes;
  for (const v1::ResolvedMemory& memory : machine.memories()) {
    bytes.push_back(memory.capacity_bytes() / 8 * eighths +
                    (eighths == 8 ? memory.capacity_bytes() % 8 : 0));
  }
  return bytes;
}

struct Choice {
  v1::RegionPlans plans;
  int64_t cycles = 0;
};

void WriteTurns(const std::vector<Work>& works, const TurnPlan& turns,
                v1::RegionPlans& plans) {
  for (const TurnPlan::Turn& turn : turns.turns) {
    const Work& work = works[turn.work];
    v1::RegionPlans::Turn* const written = plans.add_turns();
    written->set_region(work.region);
    written->set_step(work.region < 0 ? work.op : turn.step);
    written->set_drained(turn.drained);
  }
}

void WriteRooms(const RoomPlan& rooms, v1::RegionPlans& plans) {
  for (int32_t r = 0; r < std::ssize(rooms.address); ++r) {
    for (int32_t b = 0; b < std::ssize(rooms.address[r]); ++b) {
      v1::RegionPlans::Room* const written = plans.add_rooms();
      written->set_region(r);
      written->set_buffer(b);
      written->set_address(rooms.address[r][b]);
    }
  }
}

// The best order of these regions that fits, if it beats `best`.
absl::Status TryOrders(const Graph& graph, const v1::Partition& partition,
                       const v1::RegionPlans& plans, const v1::Machine& machine,
                       std::optional<Choice>& best) {
  EK_ASSIGN_OR_RETURN(const std::vector<Work> works,
                      WorksOf(graph, partition, plans, machine));
  const auto num_ops = static_cast<int32_t>(graph.ops.size());
  for (const int32_t window : kWindows) {
    const TurnPlan turns = OrderTurns(works, window, machine, num_ops);
    if (best && turns.cycles >= best->cycles) continue;
    const std::optional<RoomPlan> rooms =
        PlanRooms(works, turns, plans, machine);
    if (!rooms) continue;
    best = Choice{plans, turns.cycles};
    WriteTurns(works, turns, best->plans);
    WriteRooms(*rooms, best->plans);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<bool> IsDriven(const v1::Partition& partition,
                              const v1::Machine& machine) {
  bool driven = false;
  for (const v1::Partition::Placement& placement : partition.placements()) {
    if (placement.engine() < 0) continue;
    EK_ASSIGN_OR_RETURN(const EngineBackend* const backend,
                        FindBackend(machine, placement.engine()));
    driven = driven || backend->HostDriven();
  }
  return driven;
}

absl::StatusOr<v1::RegionPlans> PlanChip(const Graph& graph,
                                         const v1::Partition& partition,
                                         const v1::Machine& machine,
                                         const v1::TileRecipe& recipe,
                                         int32_t ram) {
  std::vector<DrivenOp> ops;
  for (const v1::Partition::Placement& placement : partition.placements()) {
    const int32_t engine = placement.engine();
    if (engine < 0 || graph.ops[placement.op()].attributes.has_reshape()) {
      continue;
    }
    EK_ASSIGN_OR_RETURN(const EngineBackend* const backend,
                        FindBackend(machine, engine));
    if (backend->HostDriven()) ops.push_back({placement.op(), engine});
  }
  std::optional<Choice> best;
  for (const int share : kShares) {
    auto driven = PlanDrivenOps(graph, ops, machine, recipe,
                                ShareOf(machine, share), ram);
    if (!driven.ok()) {
      if (share == kShares[0]) return driven.status();
      break;
    }
    v1::RegionPlans all;
    for (v1::RegionPlan& plan : *driven) *all.add_regions() = std::move(plan);
    EK_RETURN_IF_ERROR(TryOrders(graph, partition, all, machine, best));
  }
  if (best) return std::move(best->plans);
  return MakeError(absl::StatusCode::kResourceExhausted,
                   {.reason = "MEMORY_TOO_SMALL",
                    .what = "no order of the layers was found whose tensors "
                            "fit the memory of the engines",
                    .fix = "use a target with more of this memory"});
}

}  // namespace edgekiln::compiler
