#include "compiler/codegen/resident_candidates.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "base/status_macros.h"
#include "compiler/codegen/backends.h"
#include "compiler/codegen/in_place_ops.h"
#include "compiler/codegen/plane_sums.h"
#include "target/memories.h"

namespace edgekiln::compiler {
namespace {

using Candidate = ResidentCandidate;

class CandidateFinder {
 public:
  CandidateFinder(const Graph& graph, const Views& views,
                  const std::vector<DrivenOp>& ops, const v1::Machine& machine,
                  const RegionMaker& maker, int32_t ram, bool plane_sums)
      : graph_(graph),
        views_(views),
        ops_(ops),
        machine_(machine),
        maker_(maker),
        ram_(ram),
        plane_sums_(plane_sums) {}

  absl::StatusOr<std::vector<Candidate>> Run() const {
    const std::vector<TensorId>& places = views_.places();
    std::map<int32_t, int32_t> position_of;  // By op.
    for (int32_t p = 0; p < std::ssize(ops_); ++p) {
      position_of[ops_[p].op] = p;
    }
    // By place: its users, and under which tensor ids.
    std::map<TensorId, std::vector<User>> uses;
    std::vector<bool> elsewhere(graph_.tensors.size(), false);
    std::vector<int32_t> summed(graph_.tensors.size(), 0);  // How often.
    std::vector<bool> overwritten(graph_.tensors.size(), false);
    for (const TensorId tensor : graph_.inputs) {
      elsewhere[places[tensor]] = true;
    }
    for (const TensorId tensor : graph_.outputs) {
      elsewhere[places[tensor]] = true;
    }
    for (int32_t i = 0; i < std::ssize(graph_.ops); ++i) {
      const Op& op = graph_.ops[i];
      if (views_.IsNothing(i)) continue;
      const auto position = position_of.find(i);
      for (const std::vector<TensorId>* tensors : {&op.inputs, &op.outputs}) {
        for (const TensorId tensor : *tensors) {
          if (tensor == kNoTensor ||
              graph_.tensors[places[tensor]].is_constant()) {
            continue;
          }
          if (position == position_of.end()) {
            if (views_.IsInPlace(i)) {
              overwritten[places[tensor]] = true;
              continue;
            }
            if (plane_sums_ && tensors == &op.inputs &&
                tensor == op.inputs[0] && IsPlaneSum(graph_, op)) {
              ++summed[places[tensor]];
              continue;
            }
            elsewhere[places[tensor]] = true;
          } else {
            uses[places[tensor]].push_back({position->second, tensor});
          }
        }
      }
    }
    std::vector<Candidate> candidates;
    for (const auto& [place, users] : uses) {
      if (elsewhere[place]) continue;
      EK_ASSIGN_OR_RETURN(std::optional<Candidate> candidate,
                          CandidateOf(place, users));
      if (!candidate) continue;
      candidate->leaves = summed[place] > 0 || overwritten[place];
      const v1::Layout& layout = candidate->layouts[0];
      if ((candidate->leaves && !candidate->arranged) ||
          (summed[place] > 0 && overwritten[place]) ||
          (summed[place] > 0 &&
           !CanLeave(layout, users.size() + summed[place])) ||
          (overwritten[place] && !LiesWithoutGaps(layout))) {
        continue;
      }
      candidates.push_back(*std::move(candidate));
    }
    return candidates;
  }

 private:
  struct User {
    int32_t position = 0;
    TensorId tensor = kNoTensor;
  };

  // Whether a host op can read planes that have so many users. It reverses
  // groups that planes share in place, so that nothing else may read them.
  static bool CanLeave(const v1::Layout& layout, size_t users) {
    return LiesInPlanes(layout) &&
           (users == 2 || SharedGroupsOf(layout, layout.size_bytes()).empty());
  }

  absl::StatusOr<const EngineBackend*> BackendOf(int32_t position) const {
    return FindBackend(machine_, ops_[position].engine);
  }

  Region RegionAt(int32_t position) const {
    return maker_.Make({ops_[position].op});
  }

  absl::StatusOr<std::optional<Candidate>> CandidateOf(
      TensorId place, const std::vector<User>& users) const {
    Candidate candidate;
    candidate.place = place;
    std::vector<v1::Layout> layouts;
    std::vector<User> strangers;  // Who have it in no layout of their own.
    for (const User& user : users) {
      const int32_t engine = ops_[user.position].engine;
      const int32_t memory = target::LocalMemoryOf(machine_, engine);
      if (candidate.users.empty()) candidate.memory = memory;
      if (memory < 0 || memory != candidate.memory) return std::nullopt;
      if (candidate.users.empty() || candidate.users.back() != user.position) {
        candidate.users.push_back(user.position);
      }
      EK_ASSIGN_OR_RETURN(const std::optional<v1::Layout> own, OwnLayout(user));
      if (!own) {
        strangers.push_back(user);
      } else if (!Contains(layouts, *own)) {
        layouts.push_back(*own);
      }
    }
    for (v1::Layout& layout : layouts) {
      EK_ASSIGN_OR_RETURN(const bool taken,
                          AllTake(layouts.size() > 1 ? users : strangers,
                                  layout, candidate.memory));
      if (taken) candidate.layouts.push_back(std::move(layout));
    }
    if (candidate.layouts.empty()) return std::nullopt;
    ChooseLayout(0, machine_, candidate);
    candidate.first = candidate.users.front();
    candidate.last = candidate.users.back();
    EK_ASSIGN_OR_RETURN(candidate.arranged, IsArranged(candidate, users));
    return candidate;
  }

  // Whether a user needs the host's code if the place is dense in system
  // memory, and all can use the first layout there. Not of places that host ops
  // see other tensors of.
  absl::StatusOr<bool> IsArranged(const Candidate& candidate,
                                  const std::vector<User>& users) const {
    if (!views_.OthersOf(candidate.place).empty()) return false;
    bool needed = false;
    for (const User& user : users) {
      Budget::Border border;
      border.tensor = maker_.storage()[user.tensor];
      border.memory = ram_;
      const auto dense = views_.InDensePlace(border.tensor);
      if (!dense) return false;
      border.layout = *dense;
      EK_ASSIGN_OR_RETURN(const EngineBackend* const backend,
                          BackendOf(user.position));
      needed = needed ||
               backend->NeedsRearranging(RegionAt(user.position), border,
                                         machine_, ops_[user.position].engine);
    }
    if (!needed) return false;
    return AllTake(users, candidate.layouts[0], ram_);
  }

  // The place in the layout of the user's engine; nothing if no layout
  // expresses it.
  absl::StatusOr<std::optional<v1::Layout>> OwnLayout(const User& user) const {
    EK_ASSIGN_OR_RETURN(const EngineBackend* const backend,
                        BackendOf(user.position));
    const auto layout =
        backend->OperandLayout(RegionAt(user.position), user.tensor, machine_,
                               ops_[user.position].engine);
    if (absl::IsUnimplemented(layout.status())) return std::nullopt;
    EK_RETURN_IF_ERROR(layout.status());
    const TensorId stored = maker_.storage()[user.tensor];
    return views_.Between(stored, *layout, views_.places()[stored]);
  }

  // Whether these users can use the place in that layout.
  absl::StatusOr<bool> AllTake(const std::vector<User>& users,
                               const v1::Layout& layout, int32_t memory) const {
    for (const User& user : users) {
      Budget::Border border;
      border.tensor = maker_.storage()[user.tensor];
      const TensorId place = views_.places()[border.tensor];
      const auto there = views_.Between(place, layout, border.tensor);
      if (!there) return false;
      border.memory = memory;
      border.layout = *there;
      border.resident = memory != ram_;
      EK_ASSIGN_OR_RETURN(const EngineBackend* const backend,
                          BackendOf(user.position));
      const absl::Status taken =
          backend->CheckBorder(RegionAt(user.position), border, machine_,
                               ops_[user.position].engine);
      if (absl::IsUnimplemented(taken)) return false;
      EK_RETURN_IF_ERROR(taken);
    }
    return true;
  }

  static bool Contains(const std::vector<v1::Layout>& layouts,
                       const v1::Layout& layout) {
    return std::any_of(layouts.begin(), layouts.end(), [&](const auto& other) {
      return other.SerializeAsString() == layout.SerializeAsString();
    });
  }

  const Graph& graph_;
  const Views& views_;
  const std::vector<DrivenOp>& ops_;
  const v1::Machine& machine_;
  const RegionMaker& maker_;
  const int32_t ram_;
  const bool plane_sums_;
};

}  // namespace

void ChooseLayout(size_t layout, const v1::Machine& machine,
                  ResidentCandidate& candidate) {
  const int64_t alignment =
      machine.memories(candidate.memory).alignment_bytes();
  candidate.chosen = layout;
  candidate.bytes = (candidate.layouts[layout].size_bytes() + alignment - 1) /
                    alignment * alignment;
}

absl::StatusOr<std::vector<ResidentCandidate>> FindResidentCandidates(
    const Graph& graph, const Views& views, const std::vector<DrivenOp>& ops,
    const v1::Machine& machine, const RegionMaker& maker, int32_t ram,
    bool plane_sums) {
  return CandidateFinder(graph, views, ops, machine, maker, ram, plane_sums)
      .Run();
}

}  // namespace edgekiln::compiler
