#include "compiler/codegen/residency.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/codegen/wall_cycles.h"

namespace edgekiln::compiler {
namespace {

// Above this, leaving tensors out one by one is not tried.
constexpr size_t kMaxTried = 512;

class Planner {
 public:
  Planner(const Graph& graph, const Views& views,
          const v1::Partition& partition, const std::vector<DrivenOp>& ops,
          const v1::Machine& machine, MachineBackends& backends,
          const v1::TileRecipe& recipe,
          const std::vector<int64_t>& memory_bytes, int32_t ram,
          const RamOfTensor* ram_of, PlanCache& cache)
      : graph_(graph),
        views_(views),
        partition_(partition),
        ops_(ops),
        machine_(machine),
        backends_(backends),
        recipe_(recipe),
        memory_bytes_(memory_bytes),
        ram_(ram),
        ram_of_(ram_of),
        cache_(cache),
        maker_(graph),
        plans_(ops.size()) {}

  absl::StatusOr<std::vector<v1::RegionPlan>> Run() {
    EK_ASSIGN_OR_RETURN(
        candidates_,
        FindResidentCandidates(graph_, views_, partition_, ops_, machine_,
                               backends_, maker_, ram_,
                               /*plane_sums=*/!recipe_.round_trips()));
    for (int32_t c = 0; c < std::ssize(candidates_); ++c) {
      candidate_of_[candidates_[c].place] = c;
      candidates_[c].stays = !recipe_.round_trips() && !candidates_[c].leaves;
    }
    EK_RETURN_IF_ERROR(PlanAll());
    if (candidates_.size() > kMaxTried) return std::move(plans_);
    EK_RETURN_IF_ERROR(TryLayouts());
    EK_RETURN_IF_ERROR(TryLayoutsTogether());
    if (recipe_.round_trips()) return std::move(plans_);
    EK_RETURN_IF_ERROR(TryWithout());
    EK_RETURN_IF_ERROR(TryWithoutTogether());
    return std::move(plans_);
  }

 private:
  // Axes from the one whose elements lie closest together on, each once.
  static std::vector<int32_t> AxesOf(const v1::Layout& layout,
                                     const v1::Layout& other) {
    std::vector<std::pair<int64_t, int32_t>> steps;
    for (const v1::Layout::Term& term : layout.terms()) {
      const auto has_axis = [&](const v1::Layout::Term& each) {
        return each.axis() == term.axis();
      };
      if (!std::any_of(other.terms().begin(), other.terms().end(), has_axis)) {
        continue;
      }
      steps.emplace_back(term.stride_bytes(), term.axis());
    }
    std::sort(steps.begin(), steps.end());
    std::vector<int32_t> axes;
    for (const auto& [step, axis] : steps) {
      if (std::find(axes.begin(), axes.end(), axis) == axes.end()) {
        axes.push_back(axis);
      }
    }
    return axes;
  }

  // Whether both have their axes in one order.
  static bool Alike(const v1::Layout& a, const v1::Layout& b) {
    return AxesOf(a, b) == AxesOf(b, a);
  }

  static bool Same(const v1::Layout& a, const v1::Layout& b) {
    return a.SerializeAsString() == b.SerializeAsString();
  }

  // Or registers too narrow for any tile of tensors in these layouts.
  static bool HasNoRoom(const absl::Status& planned) {
    return absl::IsResourceExhausted(planned) || absl::IsUnimplemented(planned);
  }

  absl::StatusOr<const EngineBackend*> BackendOf(int32_t position) const {
    return backends_.Find(ops_[position].engine);
  }

  Region RegionAt(int32_t position) const {
    return maker_.Make({ops_[position].op});
  }

  // Bytes of resident tensors alive at the op that are not its operands.
  std::vector<int64_t> LeftBeside(int32_t position) const {
    std::vector<int64_t> left = memory_bytes_;
    for (const ResidentCandidate& candidate : candidates_) {
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
    const size_t outputs = borders.size();
    borders.insert(borders.end(), region.inputs.begin(), region.inputs.end());
    for (const TensorId tensor : borders) {
      EK_ASSIGN_OR_RETURN(budget.borders.emplace_back(), BorderOf(tensor));
    }
    const int32_t engine = ops_[position].engine;
    EK_ASSIGN_OR_RETURN(const EngineBackend* const backend,
                        BackendOf(position));
    const std::vector<TensorId> overwritable =
        backend->OverwritableInputs(region, machine_, engine);
    for (size_t output = 0; output < outputs; ++output) {
      LayOver(position, overwritable, outputs, output, budget);
    }
    const int32_t op = ops_[position].op;
    if (const v1::RegionPlan* const known = cache_.Find(op, budget)) {
      return *known;
    }
    EK_ASSIGN_OR_RETURN(v1::RegionPlan plan,
                        backend->Plan(region, budget, machine_, engine,
                                      DecisionsFor(recipe_, engine)));
    plan.clear_ops();
    plan.add_ops(op);
    cache_.Add(op, budget, plan);
    return plan;
  }

  absl::StatusOr<Budget::Border> BorderOf(TensorId tensor) const {
    Budget::Border border;
    border.tensor = tensor;
    const TensorId place = views_.places()[tensor];
    const auto found = candidate_of_.find(place);
    std::optional<v1::Layout> layout;
    if (found != candidate_of_.end() && candidates_[found->second].stays) {
      const ResidentCandidate& candidate = candidates_[found->second];
      border.memory = candidate.memory;
      border.resident = true;
      layout =
          views_.Between(place, candidate.layouts[candidate.chosen], tensor);
    } else {
      border.memory = ram_;
      if (ram_of_ != nullptr) {
        const auto ram = ram_of_->find(place);
        if (ram != ram_of_->end()) border.memory = ram->second;
      }
      if (found != candidate_of_.end() && candidates_[found->second].arranged) {
        const ResidentCandidate& candidate = candidates_[found->second];
        layout =
            views_.Between(place, candidate.layouts[candidate.chosen], tensor);
      } else {
        layout = views_.InDensePlace(tensor);
      }
    }
    if (!layout) {
      return absl::InternalError(
          absl::StrCat("no layout of tensor ", graph_.tensors[tensor].name,
                       " in the place of ", graph_.tensors[place].name));
    }
    border.layout = *std::move(layout);
    return border;
  }

  // Puts an output over the first of `overwritable` that is last used here and
  // has the same layout.
  void LayOver(int32_t position, const std::vector<TensorId>& overwritable,
               size_t first_input, size_t output, Budget& budget) const {
    Budget::Border& over = budget.borders[output];
    if (!over.resident) return;
    for (size_t i = first_input; i < budget.borders.size(); ++i) {
      const Budget::Border& input = budget.borders[i];
      if (!input.resident || input.memory != over.memory ||
          !Same(input.layout, over.layout) ||
          std::find(overwritable.begin(), overwritable.end(), input.tensor) ==
              overwritable.end()) {
        continue;
      }
      const int32_t found = candidate_of_.at(views_.places()[input.tensor]);
      if (candidates_[found].last != position) continue;
      over.over = input.tensor;
      return;
    }
  }

  // The longest-lived candidate that stays and is alive at the op; -1 if there
  // is none.
  int32_t VictimAt(int32_t position) const {
    int32_t victim = -1;
    std::tuple<int32_t, int64_t, TensorId> worst;
    for (int32_t c = 0; c < std::ssize(candidates_); ++c) {
      const ResidentCandidate& candidate = candidates_[c];
      if (!candidate.stays || candidate.first > position ||
          candidate.last < position) {
        continue;
      }
      const std::tuple<int32_t, int64_t, TensorId> rank = {
          candidate.last - candidate.first, candidate.bytes, candidate.place};
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
      const int32_t victim = HasNoRoom(plan.status()) ? VictimAt(p) : -1;
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

  // Cycles that the ops [first, last] gain over their plans, with the choices
  // as they are now; negative if they lose, nothing if one no longer fits.
  // `others` gets the new plans.
  absl::StatusOr<std::optional<int64_t>> GainOf(
      int32_t first, int32_t last, std::vector<v1::RegionPlan>& others) const {
    others.clear();
    int64_t gain = 0;
    for (int32_t p = first; p <= last; ++p) {
      absl::StatusOr<v1::RegionPlan> plan = PlanAt(p);
      if (HasNoRoom(plan.status())) return std::nullopt;
      EK_RETURN_IF_ERROR(plan.status());
      gain += WallCyclesOf(plans_[p]) - WallCyclesOf(*plan);
      others.push_back(*std::move(plan));
    }
    return gain;
  }

  // Not of places that a host op uses in the first layout.
  static bool MayChange(const ResidentCandidate& candidate) {
    return candidate.stays || (candidate.arranged && !candidate.leaves);
  }

  // Of places that stay, and of those that lie in system memory in some
  // engine's layout.
  absl::Status TryLayouts() {
    for (ResidentCandidate& candidate : candidates_) {
      if (!MayChange(candidate)) continue;
      for (size_t l = 1; l < candidate.layouts.size(); ++l) {
        const size_t before = candidate.chosen;
        ChooseLayout(l, machine_, candidate);
        std::vector<v1::RegionPlan> others;
        EK_ASSIGN_OR_RETURN(const auto gain,
                            GainOf(candidate.first, candidate.last, others));
        if (gain.value_or(0) <= 0) {
          ChooseLayout(before, machine_, candidate);
          continue;
        }
        std::move(others.begin(), others.end(),
                  plans_.begin() + candidate.first);
      }
    }
    return absl::OkStatus();
  }

  // All borders of an op in one of its engine's layouts at a time: one alone
  // may gain nothing.
  absl::Status TryLayoutsTogether() {
    for (int32_t p = 0; p < std::ssize(ops_); ++p) {
      std::vector<ResidentCandidate*> borders;
      for (ResidentCandidate& candidate : candidates_) {
        if (!MayChange(candidate) || candidate.layouts.size() < 2 ||
            !std::binary_search(candidate.users.begin(), candidate.users.end(),
                                p)) {
          continue;
        }
        borders.push_back(&candidate);
      }
      if (borders.size() < 2) continue;
      for (const ResidentCandidate* like : borders) {
        for (const v1::Layout& layout : like->layouts) {
          EK_RETURN_IF_ERROR(TryTogether(borders, layout));
        }
      }
    }
    return absl::OkStatus();
  }

  // Those of `borders` that have a layout like `layout` get it.
  absl::Status TryTogether(const std::vector<ResidentCandidate*>& borders,
                           const v1::Layout& layout) {
    std::vector<size_t> before;
    int32_t first = std::numeric_limits<int32_t>::max();
    int32_t last = 0;
    bool changes = false;
    for (ResidentCandidate* const border : borders) {
      before.push_back(border->chosen);
      for (size_t l = 0; l < border->layouts.size(); ++l) {
        if (!Alike(border->layouts[l], layout) || l == border->chosen) continue;
        ChooseLayout(l, machine_, *border);
        first = std::min(first, border->first);
        last = std::max(last, border->last);
        changes = true;
        break;
      }
    }
    if (!changes) return absl::OkStatus();
    std::vector<v1::RegionPlan> others;
    EK_ASSIGN_OR_RETURN(const auto gain, GainOf(first, last, others));
    if (gain.value_or(0) > 0) {
      std::move(others.begin(), others.end(), plans_.begin() + first);
      return absl::OkStatus();
    }
    for (size_t b = 0; b < borders.size(); ++b) {
      ChooseLayout(before[b], machine_, *borders[b]);
    }
    return absl::OkStatus();
  }

  // Drops tensors whose room gains more for others.
  absl::Status TryWithout() {
    std::vector<int32_t> order;
    for (int32_t c = 0; c < std::ssize(candidates_); ++c) {
      if (candidates_[c].stays) order.push_back(c);
    }
    std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
      return candidates_[a].bytes > candidates_[b].bytes;
    });
    for (const int32_t c : order) {
      ResidentCandidate& candidate = candidates_[c];
      candidate.stays = false;
      std::vector<v1::RegionPlan> others;
      EK_ASSIGN_OR_RETURN(const auto gain,
                          GainOf(candidate.first, candidate.last, others));
      // An output that lay over it gets room of its own.
      if (gain.value_or(0) <= 0) {
        candidate.stays = true;
        continue;
      }
      std::move(others.begin(), others.end(), plans_.begin() + candidate.first);
    }
    return absl::OkStatus();
  }

  // For each op that moves tiles: leaves out all its resident operands
  // together. One of them alone may gain nothing, as the others' layouts
  // remain.
  absl::Status TryWithoutTogether() {
    for (int32_t p = 0; p < std::ssize(ops_); ++p) {
      if (!Moves(plans_[p])) continue;
      std::vector<ResidentCandidate*> borders;
      int32_t first = p;
      int32_t last = p;
      for (ResidentCandidate& candidate : candidates_) {
        if (!candidate.stays || !std::binary_search(candidate.users.begin(),
                                                    candidate.users.end(), p)) {
          continue;
        }
        borders.push_back(&candidate);
        first = std::min(first, candidate.first);
        last = std::max(last, candidate.last);
      }
      if (borders.size() < 2) continue;
      for (ResidentCandidate* const border : borders) border->stays = false;
      std::vector<v1::RegionPlan> others;
      EK_ASSIGN_OR_RETURN(const auto gain, GainOf(first, last, others));
      if (gain.value_or(0) <= 0) {
        for (ResidentCandidate* const border : borders) border->stays = true;
        continue;
      }
      std::move(others.begin(), others.end(), plans_.begin() + first);
    }
    return absl::OkStatus();
  }

  // Besides constants.
  static bool Moves(const v1::RegionPlan& plan) {
    return std::any_of(plan.steps().begin(), plan.steps().end(),
                       [](const v1::RegionPlan::Step& step) {
                         return step.kind() == v1::RegionPlan::Step::MOVE &&
                                !step.early();
                       });
  }

  const Graph& graph_;
  const Views& views_;
  const v1::Partition& partition_;
  const std::vector<DrivenOp>& ops_;
  const v1::Machine& machine_;
  MachineBackends& backends_;
  const v1::TileRecipe& recipe_;
  const std::vector<int64_t>& memory_bytes_;
  const int32_t ram_;
  const RamOfTensor* const ram_of_;
  PlanCache& cache_;
  const RegionMaker maker_;
  std::vector<ResidentCandidate> candidates_;
  std::map<TensorId, int32_t> candidate_of_;  // By place.
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
    const Graph& graph, const Views& views, const v1::Partition& partition,
    const std::vector<DrivenOp>& ops, const v1::Machine& machine,
    MachineBackends& backends, const v1::TileRecipe& recipe,
    const std::vector<int64_t>& memory_bytes, int32_t ram,
    const RamOfTensor* ram_of, PlanCache& cache) {
  return Planner(graph, views, partition, ops, machine, backends, recipe,
                 memory_bytes, ram, ram_of, cache)
      .Run();
}

}  // namespace edgekiln::compiler
