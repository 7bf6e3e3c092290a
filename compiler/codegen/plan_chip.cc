#include "compiler/codegen/plan_chip.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/status_macros.h"
#include "compiler/codegen/backends.h"
#include "compiler/codegen/machine_backends.h"
#include "compiler/codegen/plan_cache.h"
#include "compiler/codegen/residency.h"
#include "compiler/codegen/rooms.h"
#include "compiler/codegen/system_rooms.h"
#include "compiler/codegen/turns.h"
#include "compiler/codegen/views.h"

namespace edgekiln::compiler {
namespace {

// Eighths of each memory that plans of single ops may fill.
constexpr int kShares[] = {8, 7, 6, 4};
// Windows of OrderTurns() to try.
constexpr int32_t kWindows[] = {16, 4, 1, 0, kDrained};
// Of all orders that are tried, together. Once a plan fits, what would exceed
// this is not tried: a layer of half a million steps takes a fraction of a
// second for each order, a network as people have them never gets here.
constexpr int64_t kMaxTriedSteps = int64_t{1} << 22;

std::vector<int64_t> ShareOf(const v1::Machine& machine, int eighths) {
  std::vector<int64_t> bytes;
  for (const v1::ResolvedMemory& memory : machine.memories()) {
    bytes.push_back(memory.capacity_bytes() / 8 * eighths +
                    (eighths == 8 ? memory.capacity_bytes() % 8 : 0));
  }
  return bytes;
}

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

void WriteSystemRooms(const RamPlan& ram, const v1::Machine& machine,
                      const std::vector<int32_t>& rams,
                      v1::RegionPlans& plans) {
  std::vector<std::pair<TensorId, uint64_t>> sorted(ram.address.begin(),
                                                    ram.address.end());
  std::sort(sorted.begin(), sorted.end());
  for (const auto& [tensor, address] : sorted) {
    v1::RegionPlans::SystemRoom* const written = plans.add_system_rooms();
    written->set_tensor(tensor);
    written->set_memory(MemoryAt(machine, rams, address));
    written->set_address(address);
  }
}

// Gives every buffer a room of its own; false if each had one. Removes waits:
// ops that overwrite an input wait for its other readers.
bool ClearOver(v1::RegionPlans& plans) {
  bool changed = false;
  for (v1::RegionPlan& plan : *plans.mutable_regions()) {
    for (v1::RegionPlan::Buffer& buffer : *plan.mutable_buffers()) {
      changed = changed || buffer.has_over();
      buffer.clear_over();
    }
  }
  return changed;
}

class ChipPlanner {
 public:
  ChipPlanner(const Graph& graph, const v1::Partition& partition,
              const v1::Machine& machine, const v1::TileRecipe& recipe,
              const std::vector<int32_t>& rams, std::vector<DrivenOp> ops,
              MachineBackends& backends)
      : graph_(graph),
        partition_(partition),
        machine_(machine),
        backends_(backends),
        recipe_(recipe),
        rams_(rams),
        ops_(std::move(ops)) {}

  absl::StatusOr<ChipPlan> Run() {
    EK_ASSIGN_OR_RETURN(foldable_,
                        FoldableOps(graph_, partition_, machine_, rams_[0]));
    EK_RETURN_IF_ERROR(Search(nullptr));
    if (best_) {
      // Moves between engines and RAM were planned for the first RAM.
      EK_ASSIGN_OR_RETURN(const RamOfTensor ram_of, RamsOfBorders());
      if (!ram_of.empty()) {
        best_.reset();
        EK_RETURN_IF_ERROR(Search(&ram_of));
      }
    }
    if (best_) return *std::move(best_);
    EK_RETURN_IF_ERROR(CheckEachAlone());
    EK_RETURN_IF_ERROR(refusal_);
    return MakeError(absl::StatusCode::kResourceExhausted,
                     {.reason = "MEMORY_TOO_SMALL",
                      .what = "no order of the layers was found whose tensors "
                              "fit the memory of the engines",
                      .fix = "use a target whose engines have more memory"});
  }

 private:
  // What stays is decided tensor by tensor, and may lie in the way of others:
  // that nothing does is tried as well.
  absl::Status Search(const RamOfTensor* ram_of) {
    const bool asked = recipe_.round_trips();
    EK_RETURN_IF_ERROR(TryViews(ram_of));
    if (asked) return absl::OkStatus();
    recipe_.set_round_trips(true);
    const absl::Status tried = TryViews(ram_of);
    recipe_.set_round_trips(false);
    return tried;
  }

  // With transposes next to engines folded into their moves, and without.
  absl::Status TryViews(const RamOfTensor* ram_of) {
    if (!foldable_.empty()) {
      EK_RETURN_IF_ERROR(TryShares(foldable_, ram_of));
    }
    return TryShares({}, ram_of);
  }

  // Tries all shares with these ops folded.
  absl::Status TryShares(const std::vector<int32_t>& folded,
                         const RamOfTensor* ram_of) {
    EK_ASSIGN_OR_RETURN(const Views views,
                        Views::Create(graph_, partition_, folded));
    for (const int share : kShares) {
      if (TriedEnough()) break;
      auto driven = PlanDrivenOps(graph_, views, partition_, ops_, machine_,
                                  backends_, recipe_, ShareOf(machine_, share),
                                  rams_[0], ram_of, cache_);
      if (!driven.ok()) {
        if (!absl::IsResourceExhausted(driven.status()) &&
            !absl::IsUnimplemented(driven.status())) {
          return driven.status();
        }
        if (share == kShares[0]) refusal_ = driven.status();
        break;
      }
      v1::RegionPlans all;
      all.mutable_folded()->Add(folded.begin(), folded.end());
      for (v1::RegionPlan& plan : *driven) {
        *all.add_regions() = std::move(plan);
      }
      EK_RETURN_IF_ERROR(TryOrders(views, all, ram_of));
      if (!ClearOver(all)) continue;
      EK_RETURN_IF_ERROR(TryOrders(views, all, ram_of));
    }
    return absl::OkStatus();
  }

  // Names the op that needs the most memory, not the first that does not fit.
  absl::Status CheckEachAlone() {
    std::map<int32_t, std::vector<int32_t>> ops_of;  // By engine.
    for (const DrivenOp& op : ops_) ops_of[op.engine].push_back(op.op);
    MemoryNeed most;
    for (const auto& [engine, ops] : ops_of) {
      EK_ASSIGN_OR_RETURN(const EngineBackend* const backend,
                          backends_.Find(engine));
      EK_ASSIGN_OR_RETURN(MemoryNeed need, backend->NeedOfEachAlone(
                                               graph_, ops, machine_, engine,
                                               DecisionsFor(recipe_, engine)));
      const bool is_more = most.refusal.ok() || (need.memory == most.memory &&
                                                 need.bytes > most.bytes);
      if (!need.refusal.ok() && is_more) most = std::move(need);
    }
    return most.refusal;
  }

  bool TriedEnough() const { return best_ && tried_steps_ > kMaxTriedSteps; }

  // Keeps the best order of these regions that fits, if it beats what there is.
  absl::Status TryOrders(const Views& views, const v1::RegionPlans& plans,
                         const RamOfTensor* ram_of) {
    EK_ASSIGN_OR_RETURN(const std::vector<Work> works,
                        WorksOf(graph_, views, partition_, plans, machine_));
    const auto num_ops = static_cast<int32_t>(graph_.ops.size());
    int64_t steps = 0;
    for (const Work& work : works) steps += std::ssize(work.steps);
    for (const int32_t window : kWindows) {
      if (TriedEnough()) break;
      tried_steps_ += steps;
      const TurnPlan turns = OrderTurns(works, window, machine_, num_ops);
      if (best_ && turns.cycles >= best_->cycles) continue;
      const std::optional<RoomPlan> rooms =
          PlanRooms(views, works, turns, plans, machine_);
      if (!rooms) continue;
      const auto ram = PlanSystemRooms(graph_, views, partition_, plans, works,
                                       turns, machine_, rams_, ram_of);
      if (absl::IsResourceExhausted(ram.status())) {
        refusal_ = ram.status();
        continue;
      }
      EK_RETURN_IF_ERROR(ram.status());
      best_ = ChipPlan{plans, turns.cycles};
      WriteTurns(works, turns, best_->plans);
      WriteRooms(*rooms, best_->plans);
      WriteSystemRooms(*ram, machine_, rams_, best_->plans);
    }
    return absl::OkStatus();
  }

  // The RAM of each place in the best plan; nothing if all places that engines'
  // moves touch are in the first one.
  absl::StatusOr<RamOfTensor> RamsOfBorders() const {
    const std::vector<int32_t> folded(best_->plans.folded().begin(),
                                      best_->plans.folded().end());
    EK_ASSIGN_OR_RETURN(const Views views,
                        Views::Create(graph_, partition_, folded));
    RamOfTensor ram_of;
    for (const v1::RegionPlans::SystemRoom& room :
         best_->plans.system_rooms()) {
      ram_of[room.tensor()] = room.memory();
    }
    for (const v1::RegionPlan& plan : best_->plans.regions()) {
      for (const v1::RegionPlan::Border& border : plan.borders()) {
        const auto found = ram_of.find(views.places()[border.tensor()]);
        if (found != ram_of.end() && found->second != border.memory()) {
          return ram_of;
        }
      }
    }
    return RamOfTensor();
  }

  const Graph& graph_;
  const v1::Partition& partition_;
  const v1::Machine& machine_;
  MachineBackends& backends_;
  v1::TileRecipe recipe_;
  const std::vector<int32_t>& rams_;
  const std::vector<DrivenOp> ops_;
  PlanCache cache_;
  std::vector<int32_t> foldable_;
  std::optional<ChipPlan> best_;
  int64_t tried_steps_ = 0;
  absl::Status refusal_;  // Why there is none.
};

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

bool HasDrivenEngine(const v1::Machine& machine) {
  for (int32_t engine = 0; engine < machine.engines_size(); ++engine) {
    const auto backend = FindBackend(machine, engine);
    if (backend.ok() && (*backend)->HostDriven()) return true;
  }
  return false;
}

absl::StatusOr<ChipPlan> PlanChip(const Graph& graph,
                                  const v1::Partition& partition,
                                  const v1::Machine& machine,
                                  const v1::TileRecipe& recipe,
                                  const std::vector<int32_t>& rams,
                                  MachineBackends& backends) {
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
  return ChipPlanner(graph, partition, machine, recipe, rams, std::move(ops),
                     backends)
      .Run();
}

}  // namespace edgekiln::compiler
