#include "compiler/codegen/resident_candidates.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "base/status_macros.h"
#include "compiler/codegen/host_orders.h"
#include "compiler/codegen/in_place_ops.h"
#include "compiler/codegen/plane_sums.h"
#include "target/layout_parts.h"
#include "target/memories.h"

namespace edgekiln::compiler {
namespace {

using Candidate = ResidentCandidate;

class CandidateFinder {
 public:
  CandidateFinder(const Graph& graph, const Views& views,
                  const v1::Partition& partition,
                  const std::vector<DrivenOp>& ops, const v1::Machine& machine,
                  MachineBackends& backends, const RegionMaker& maker,
                  int32_t ram, bool plane_sums)
      : graph_(graph),
        views_(views),
        ops_(ops),
        machine_(machine),
        backends_(backends),
        maker_(maker),
        ram_(ram),
        plane_sums_(plane_sums),
        orders_(HostOrders(graph, partition, views)),
        dense_(graph.tensors.size(), false),
        overwritten_(graph.tensors.size(), false),
        on_host_(graph.tensors.size(), 0) {
    if (plane_sums) return;
    std::erase_if(orders_, [](const HostOrder& order) {
      return order.kind == HostOrder::kChannels;
    });
  }

  absl::StatusOr<std::vector<Candidate>> Run() {
    FindUses();
    for (const auto& [place, users] : uses_) {
      if (dense_[place]) continue;
      EK_ASSIGN_OR_RETURN(std::optional<Candidate> candidate,
                          CandidateOf(place, users));
      if (!candidate) continue;
      EK_RETURN_IF_ERROR(ArrangeForHost(users, *candidate));
      candidates_.emplace(place, *std::move(candidate));
    }
    HostLayouts layouts = LayoutsOnHost();
    SettleLayouts(graph_, orders_, dense_, layouts);
    std::vector<Candidate> found;
    for (auto& [place, candidate] : candidates_) {
      if (!dense_[place]) found.push_back(std::move(candidate));
    }
    return found;
  }

 private:
  struct User {
    int32_t position = 0;
    TensorId tensor = kNoTensor;
  };

  // Finds the users of places, and which must be dense: those of the caller,
  // and of host ops that know no other order.
  void FindUses() {
    const std::vector<TensorId>& places = views_.places();
    std::map<int32_t, int32_t> position_of;  // By op.
    for (int32_t p = 0; p < std::ssize(ops_); ++p) {
      position_of[ops_[p].op] = p;
    }
    std::set<int32_t> ordered;  // Ops.
    for (const HostOrder& order : orders_) {
      ordered.insert(order.op);
      for (const TensorId place : order.places) ++on_host_[place];
    }
    for (const TensorId tensor : graph_.inputs) dense_[places[tensor]] = true;
    for (const TensorId tensor : graph_.outputs) dense_[places[tensor]] = true;
    for (int32_t i = 0; i < std::ssize(graph_.ops); ++i) {
      const Op& op = graph_.ops[i];
      if (views_.IsNothing(i)) continue;
      const auto position = position_of.find(i);
      if (position == position_of.end() && plane_sums_ &&
          IsPlaneSum(graph_, op)) {
        sums_.push_back(i);
        if (!ordered.contains(i)) ++on_host_[places[op.inputs[0]]];
        continue;
      }
      if (ordered.contains(i)) continue;
      for (const std::vector<TensorId>* tensors : {&op.inputs, &op.outputs}) {
        for (const TensorId tensor : *tensors) {
          if (tensor == kNoTensor ||
              graph_.tensors[places[tensor]].is_constant()) {
            continue;
          }
          if (position != position_of.end()) {
            uses_[places[tensor]].push_back({position->second, tensor});
          } else if (views_.IsInPlace(i)) {
            overwritten_[places[tensor]] = true;
          } else {
            dense_[places[tensor]] = true;
          }
        }
      }
    }
  }

  // If host ops use the place, too, gives it a layout that suits them: it never
  // stays. Without one it is dense.
  absl::Status ArrangeForHost(const std::vector<User>& users,
                              Candidate& candidate) {
    const TensorId place = candidate.place;
    candidate.leaves = on_host_[place] > 0 || overwritten_[place];
    if (!candidate.leaves) return absl::OkStatus();
    if (!candidate.arranged) {
      dense_[place] = true;
      return absl::OkStatus();
    }
    v1::Layout& layout = candidate.layouts[0];
    if (LiesWithoutGaps(layout)) return absl::OkStatus();
    std::optional<v1::Layout> closer = target::WithoutGaps(layout);
    bool taken = closer.has_value();
    if (taken) {
      EK_ASSIGN_OR_RETURN(taken, TakenAlike(users, layout, *closer));
    }
    if (taken) {
      layout = *std::move(closer);
    } else {
      dense_[place] = true;
    }
    return absl::OkStatus();
  }

  // The layouts of places that host ops use, too, before these agree. Sums over
  // planes come first; what they make is dense.
  HostLayouts LayoutsOnHost() {
    for (const int32_t sum : sums_) {
      const TensorId input = views_.places()[graph_.ops[sum].inputs[0]];
      const TensorId output = views_.places()[graph_.ops[sum].outputs[0]];
      const auto found = candidates_.find(input);
      if (found != candidates_.end() &&
          LiesInPlanes(found->second.layouts[0])) {
        dense_[output] = true;
        if (overwritten_[input] || !CanLeave(found->second)) {
          dense_[input] = true;
        }
      } else if (std::none_of(
                     orders_.begin(), orders_.end(),
                     [&](const HostOrder& each) { return each.op == sum; })) {
        dense_[input] = true;
        dense_[output] = true;
      }
    }
    HostLayouts layouts;
    for (const auto& [place, candidate] : candidates_) {
      if (candidate.leaves) layouts[place] = candidate.layouts[0];
    }
    return layouts;
  }

  // Whether a host op can read planes that have so many users. It reverses
  // groups that planes share in place, so that nothing else may read them.
  bool CanLeave(const Candidate& candidate) const {
    const TensorId place = candidate.place;
    const v1::Layout& planes = candidate.layouts[0];
    return std::ssize(uses_.at(place)) + on_host_[place] == 2 ||
           SharedGroupsOf(planes, planes.size_bytes()).empty();
  }

  // Whether all users can have the place in the layout `other` in system
  // memory, and no more of them need the host's code than for `layout`.
  absl::StatusOr<bool> TakenAlike(const std::vector<User>& users,
                                  const v1::Layout& layout,
                                  const v1::Layout& other) const {
    EK_ASSIGN_OR_RETURN(const bool taken, AllTake(users, other, ram_));
    if (!taken) return false;
    for (const User& user : users) {
      EK_ASSIGN_OR_RETURN(const bool needed, NeedsRearranging(user, other));
      if (!needed) continue;
      EK_ASSIGN_OR_RETURN(const bool before, NeedsRearranging(user, layout));
      if (!before) return false;
    }
    return true;
  }

  absl::StatusOr<bool> NeedsRearranging(const User& user,
                                        const v1::Layout& layout) const {
    Budget::Border border;
    border.tensor = maker_.storage()[user.tensor];
    border.memory = ram_;
    border.layout = layout;
    EK_ASSIGN_OR_RETURN(const EngineBackend* const backend,
                        BackendOf(user.position));
    return backend->NeedsRearranging(RegionAt(user.position), border, machine_,
                                     ops_[user.position].engine);
  }

  absl::StatusOr<const EngineBackend*> BackendOf(int32_t position) const {
    return backends_.Find(ops_[position].engine);
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
      const auto dense = views_.InDensePlace(maker_.storage()[user.tensor]);
      if (!dense) return false;
      EK_ASSIGN_OR_RETURN(const bool here, NeedsRearranging(user, *dense));
      needed = needed || here;
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
  MachineBackends& backends_;
  const RegionMaker& maker_;
  const int32_t ram_;
  const bool plane_sums_;
  std::vector<HostOrder> orders_;
  std::vector<int32_t> sums_;  // Host ops that may read planes.
  // By place: its users, and under which tensor ids.
  std::map<TensorId, std::vector<User>> uses_;
  std::map<TensorId, Candidate> candidates_;  // By place.
  // By place: no engine's layout; overwritten by ops in place; how often other
  // host ops use it.
  std::vector<bool> dense_;
  std::vector<bool> overwritten_;
  std::vector<int64_t> on_host_;
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
    const Graph& graph, const Views& views, const v1::Partition& partition,
    const std::vector<DrivenOp>& ops, const v1::Machine& machine,
    MachineBackends& backends, const RegionMaker& maker, int32_t ram,
    bool plane_sums) {
  return CandidateFinder(graph, views, partition, ops, machine, backends, maker,
                         ram, plane_sums)
      .Run();
}

}  // namespace edgekiln::compiler
