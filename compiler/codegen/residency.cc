#include "compiler/codegen/residency.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "absl/status/status.h"
#include "base/status_macros.h"
#include "compiler/codegen/backends.h"
#include "compiler/codegen/wall_cycles.h"
#include "target/layout.h"
#include "target/memories.h"

namespace edgekiln::compiler {
namespace {

// Above this, leaving tensors out one by one is not tried.
constexpr size_t kMaxTried = 512;

// A tensor that could stay: all who touch it are ops of `ops`, reach one memory
// and have it in one layout.
struct Candidate {
  TensorId tensor = kNoTensor;  // By storage.
  int32_t memory = 0;
  v1::Layout layout;
  int64_t bytes = 0;
  // Positions in the list of ops: alive in [first, last].
  int32_t first = 0;
  int32_t last = 0;
  std::vector<int32_t> users;  // Positions, rising.
  bool stays = true;
};

class Planner {
 public:
  Planner(const Graph& graph, const std::vector<DrivenOp>& ops,
          const v1::Machine& machine, const v1::TileRecipe& recipe,
          const std::vector<int64_t>& memory_bytes, int32_t ram)
      : graph_(graph),
        ops_(ops),
        machine_(machine),
        recipe_(recipe),
        memory_bytes_(memory_bytes),
        ram_(ram),
        maker_(graph),
        plans_(ops.size()) {}

  absl::StatusOr<std::vector<v1::RegionPlan>> Run() {
    EK_RETURN_IF_ERROR(FindCandidates());
    EK_RETURN_IF_ERROR(PlanAll());
    if (candidates_.size() <= kMaxTried) EK_RETURN_IF_ERROR(TryWithout());
    return std::move(plans_);
  }

 private:
  absl::StatusOr<const EngineBackend*> BackendOf(int32_t position) const {
    return FindBackend(machine_, ops_[position].engine);
  }

  Region RegionAt(int32_t position) const {
    return maker_.Make({ops_[position].op});
  }

  absl::Status FindCandidates() {
    const std::vector<TensorId>& storage = maker_.storage();
    std::map<int32_t, int32_t> position_of;  // By op.
    for (int32_t p = 0; p < std::ssize(ops_); ++p) {
      position_of[ops_[p].op] = p;
    }
    // By storage: who makes and reads it, under which ids.
    std::map<TensorId, std::vector<std::pair<int32_t, TensorId>>> uses;
    std::vector<bool> elsewhere(graph_.tensors.size(), false);
    for (const TensorId tensor : graph_.inputs) {
      elsewhere[storage[tensor]] = true;
    }
    for (const TensorId tensor : graph_.outputs) {
      elsewhere[storage[tensor]] = true;
    }
    for (int32_t i = 0; i < std::ssize(graph_.ops); ++i) {
      const Op& op = graph_.ops[i];
      if (op.attributes.has_reshape()) continue;
      const auto position = position_of.find(i);
      for (const std::vector<TensorId>* tensors : {&op.inputs, &op.outputs}) {
        for (const TensorId tensor : *tensors) {
          if (tensor == kNoTensor ||
              graph_.tensors[storage[tensor]].is_constant()) {
            continue;
          }
          if (position == position_of.end()) {
            elsewhere[storage[tensor]] = true;
          } else {
            uses[storage[tensor]].emplace_back(position->second, tensor);
          }
        }
      }
    }
    for (const auto& [tensor, users] : uses) {
      if (elsewhere[tensor]) continue;
      EK_ASSIGN_OR_RETURN(std::optional<Candidate> candidate,
                          CandidateOf(tensor, users));
      if (!candidate) continue;
      candidate_of_[tensor] = static_cast<int32_t>(candidates_.size());
      candidates_.push_back(*std::move(candidate));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<std::optional<Candidate>> CandidateOf(
      TensorId tensor,
      const std::vector<std::pair<int32_t, TensorId>>& users) const {
    Candidate candidate;
    candidate.tensor = tensor;
    for (const auto& [position, id] : users) {
      const int32_t engine = ops_[position].engine;
      const int32_t memory = target::LocalMemoryOf(machine_, engine);
      EK_ASSIGN_OR_RETURN(const EngineBackend* const backend,
                          BackendOf(position));
      const auto layout =
          backend->OperandLayout(RegionAt(position), id, machine_, engine);
      if (absl::IsUnimplemented(layout.status())) return std::nullopt;
      EK_RETURN_IF_ERROR(layout.status());
      if (candidate.users.empty()) {
        candidate.memory = memory;
        candidate.layout = *layout;
      } else if (memory != candidate.memory ||
                 layout->SerializeAsString() !=
                     candidate.layout.SerializeAsString()) {
        return std::nullopt;
      }
      if (candidate.users.empty() || candidate.users.back() != position) {
        candidate.users.push_back(position);
      }
    }
    if (candidate.memory < 0) return std::nullopt;
    const int64_t alignment =
        machine_.memories(candidate.memory).alignment_bytes();
    candidate.bytes =
        (candidate.layout.size_bytes() + alignment - 1) / alignment * alignment;
    candidate.first = candidate.users.front();
    candidate.last = candidate.users.back();
    return candidate;
  }

  // Bytes that tensors take beside the op which are none of its own.
  std::vector<int64_t> LeftBeside(int32_t position) const {
    std::vector<int64_t> left = memory_bytes_;
    for (const Candidate& candidate : candidates_) {
      if (!candidate.stays || candidate.first > position ||
          candidate.last < position ||
          std::binary_search(candidate.users.begin(), candidate.users.end(),
                             position)) {
        continue;
      }
      left[candidate.memory] -= candidate.bytes;
    }
    return left;
  }

  absl::StatusOr<v1::RegionPlan> PlanAt(int32_t position) const {
    const Region region = RegionAt(position);
    Budget budget;
    budget.memory_bytes = LeftBeside(position);
    std::vector<TensorId> borders = OutputsOf(region);
    borders.insert(borders.end(), region.inputs.begin(), region.inputs.end());
    for (const TensorId tensor : borders) {
      Budget::Border border;
      border.tensor = tensor;
      const auto found = candidate_of_.find(tensor);
      if (found != candidate_of_.end() && candidates_[found->second].stays) {
        const Candidate& candidate = candidates_[found->second];
        border.memory = candidate.memory;
        border.layout = candidate.layout;
        border.resident = true;
      } else {
        const Tensor& described = graph_.tensors[tensor];
        border.memory = ram_;
        border.layout =
            target::DenseLayout(described.shape, ElementBytes(described.type));
      }
      budget.borders.push_back(std::move(border));
    }
    const int32_t engine = ops_[position].engine;
    EK_ASSIGN_OR_RETURN(const EngineBackend* const backend,
                        BackendOf(position));
    EK_ASSIGN_OR_RETURN(v1::RegionPlan plan,
                        backend->Plan(region, budget, machine_, engine,
                                      DecisionsFor(recipe_, engine)));
    plan.clear_ops();
    plan.add_ops(ops_[position].op);
    return plan;
  }

  // Of those alive at the op, what lives longest; -1 if nothing stays there.
  int32_t VictimAt(int32_t position) const {
    int32_t victim = -1;
    std::tuple<int32_t, int64_t, TensorId> worst;
    for (int32_t c = 0; c < std::ssize(candidates_); ++c) {
      const Candidate& candidate = candidates_[c];
      if (!candidate.stays || candidate.first > position ||
          candidate.last < position) {
        continue;
      }
      const std::tuple<int32_t, int64_t, TensorId> rank = {
          candidate.last - candidate.first, candidate.bytes, candidate.tensor};
      if (victim < 0 || rank > worst) {
        victim = c;
        worst = rank;
      }
    }
    return victim;
  }

  absl::Status PlanAll() {
    for (int32_t p = 0; p < std::ssize(ops_);) {
      absl::StatusOr<v1::RegionPlan> plan = PlanAt(p);
      if (plan.ok()) {
        plans_[p++] = *std::move(plan);
        continue;
      }
      const int32_t victim =
          absl::IsResourceExhausted(plan.status()) ? VictimAt(p) : -1;
      if (victim < 0) return plan.status();
      candidates_[victim].stays = false;
      p = candidates_[victim].first;
    }
    return absl::OkStatus();
  }

  int64_t WallCyclesOf(const v1::RegionPlan& plan) const {
    return WallCycles(plan.predicted_cycles(),
                      machine_.engines(plan.engine()).clock_hz(), machine_);
  }

  // Gives up tensors whose room is worth more to others.
  absl::Status TryWithout() {
    std::vector<int32_t> order;
    for (int32_t c = 0; c < std::ssize(candidates_); ++c) {
      if (candidates_[c].stays) order.push_back(c);
    }
    std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
      return candidates_[a].bytes > candidates_[b].bytes;
    });
    for (const int32_t c : order) {
      Candidate& candidate = candidates_[c];
      candidate.stays = false;
      int64_t gain = 0;
      std::vector<v1::RegionPlan> others;
      for (int32_t p = candidate.first; p <= candidate.last; ++p) {
        EK_ASSIGN_OR_RETURN(v1::RegionPlan plan, PlanAt(p));
        gain += WallCyclesOf(plans_[p]) - WallCyclesOf(plan);
        others.push_back(std::move(plan));
      }
      if (gain <= 0) {
        candidate.stays = true;
        continue;
      }
      std::move(others.begin(), others.end(), plans_.begin() + candidate.first);
    }
    return absl::OkStatus();
  }

  const Graph& graph_;
  const std::vector<DrivenOp>& ops_;
  const v1::Machine& machine_;
  const v1::TileRecipe& recipe_;
  const std::vector<int64_t>& memory_bytes_;
  const int32_t ram_;
  const RegionMaker maker_;
  std::vector<Candidate> candidates_;
  std::map<TensorId, int32_t> candidate_of_;
  std::vector<v1::RegionPlan> plans_;
};

}  // namespace

google::protobuf::Any DecisionsFor(const v1::TileRecipe& recipe,
                                   int32_t engine) {
  for (const v1::TileRecipe::Engine& part : recipe.engines()) {
    if (part.engine() == engine) return part.decisions();
  }
  return {};
}

absl::StatusOr<std::vector<v1::RegionPlan>> PlanDrivenOps(
    const Graph& graph, const std::vector<DrivenOp>& ops,
    const v1::Machine& machine, const v1::TileRecipe& recipe,
    const std::vector<int64_t>& memory_bytes, int32_t ram) {
  return Planner(graph, ops, machine, recipe, memory_bytes, ram).Run();
}

}  // namespace edgekiln::compiler
