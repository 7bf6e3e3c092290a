#include "compiler/choose/given_weights.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "base/status_macros.h"
#include "compiler/choose/planned_cycles.h"
#include "compiler/codegen/machine_backends.h"
#include "compiler/codegen/plan_chip.h"
#include "compiler/quantize/ternary_weights.h"

namespace edgekiln::compiler {
namespace {

// Over all layers, after each has been tried alone.
constexpr int kMostRounds = 2;
// Plans that exceed the prediction by more than 1 / kTrusted are improved layer
// by layer.
constexpr int64_t kTrusted = 8;
constexpr int64_t kMostPlans = 12;

int32_t TernaryForm(const LayerForms& layer) {
  const auto found = std::find(layer.weights.begin(), layer.weights.end(),
                               v1::LayerScheme::TERNARY);
  return found == layer.weights.end()
             ? 0
             : static_cast<int32_t>(found - layer.weights.begin());
}

// Assignments by the cycles of their plans.
class PlanTrials {
 public:
  PlanTrials(const Graph& outline, const v1::QuantizationNeeds& needs,
             const v1::QuantizationConfig& config, const ChosenChip& chip,
             const std::vector<LayerForms>& layers, EstimateMemo& memo)
      : outline_(outline),
        needs_(needs),
        config_(config),
        chip_(chip),
        layers_(layers),
        memo_(memo),
        backends_(chip.machine) {}

  // Of the best one; nothing if none has a plan.
  std::optional<int64_t> fewest() const { return fewest_; }
  const Assignment& best() const { return best_; }

  // Whether it is the best so far. False for what was tried before, and beyond
  // the limit.
  absl::StatusOr<bool> Try(const Assignment& assignment) {
    if (std::ssize(tried_) >= kMostPlans || !tried_.insert(assignment).second) {
      return false;
    }
    EK_ASSIGN_OR_RETURN(
        const std::optional<int64_t> cycles,
        PlannedCycles(outline_, needs_,
                      ConfigFor(outline_, config_, layers_, assignment), chip_,
                      backends_, &memo_));
    if (!cycles || (fewest_ && *cycles >= *fewest_)) return false;
    fewest_ = cycles;
    best_ = assignment;
    return true;
  }

  // Each of these layers, in this order, between its first form and that of
  // `other`, while it gains.
  absl::Status ChangeOneByOne(const std::vector<int>& positions,
                              const Assignment& other) {
    bool gained = true;
    while (gained) {
      gained = false;
      for (const int i : positions) {
        Assignment changed = best_;
        changed[i] = changed[i] == 0 ? other[i] : 0;
        EK_ASSIGN_OR_RETURN(const bool better, Try(changed));
        gained = gained || better;
      }
    }
    return absl::OkStatus();
  }

 private:
  const Graph& outline_;
  const v1::QuantizationNeeds& needs_;
  const v1::QuantizationConfig& config_;
  const ChosenChip& chip_;
  const std::vector<LayerForms>& layers_;
  EstimateMemo& memo_;
  MachineBackends backends_;
  std::set<Assignment> tried_;
  std::optional<int64_t> fewest_;
  Assignment best_;
};

// Layers first whose form changes the predicted cycles the most, up or down.
// `saved`: by position, what ternary weights of that layer alone save.
std::vector<int> ByPredictedChange(std::vector<int> positions,
                                   const std::vector<int64_t>& saved) {
  std::stable_sort(positions.begin(), positions.end(), [&](int a, int b) {
    return std::abs(saved[a]) > std::abs(saved[b]);
  });
  return positions;
}

}  // namespace

std::vector<int> TernaryLayers(const Graph& graph,
                               const std::vector<LayerForms>& layers) {
  std::vector<int> ternary;
  for (size_t i = 0; i < layers.size(); ++i) {
    if (TernaryForm(layers[i]) > 0 &&
        HasTernaryWeights(graph, graph.ops[layers[i].op])) {
      ternary.push_back(static_cast<int>(i));
    }
  }
  return ternary;
}

absl::StatusOr<Assignment> FormsOfGivenWeights(
    const Graph& outline, const v1::QuantizationNeeds& needs,
    const v1::QuantizationConfig& config, const ChosenChip& chip,
    const std::vector<LayerForms>& layers, const std::vector<int>& ternary) {
  Assignment exact(layers.size(), 0);
  Assignment narrowest = exact;
  for (const int i : ternary) narrowest[i] = TernaryForm(layers[i]);
  if (chip.recipe.narrowest_weights()) return narrowest;
  EstimateMemo memo;
  const auto cycles_of =
      [&](const Assignment& assignment) -> absl::StatusOr<int64_t> {
    EK_ASSIGN_OR_RETURN(
        const PredictedNetwork network,
        PredictNetwork(outline, needs,
                       ConfigFor(outline, config, layers, assignment), chip,
                       &memo));
    return network.cycles;
  };
  Assignment best = exact;
  EK_ASSIGN_OR_RETURN(int64_t fewest, cycles_of(exact));
  const int64_t of_exact = fewest;
  Assignment saving = exact;
  std::vector<int64_t> saved(layers.size(), 0);  // By each alone.
  for (const int i : ternary) {
    Assignment changed = exact;
    changed[i] = narrowest[i];
    EK_ASSIGN_OR_RETURN(const int64_t cycles, cycles_of(changed));
    saved[i] = of_exact - cycles;
    if (saved[i] > 0) saving[i] = narrowest[i];
  }
  for (Assignment assignment : {saving, narrowest}) {
    EK_ASSIGN_OR_RETURN(const int64_t cycles, cycles_of(assignment));
    if (cycles >= fewest) continue;
    best = std::move(assignment);
    fewest = cycles;
  }
  // Layers save more, or less, beside others.
  for (int round = 0; round < kMostRounds; ++round) {
    const int64_t before = fewest;
    for (const int i : ternary) {
      Assignment changed = best;
      changed[i] = changed[i] == 0 ? narrowest[i] : 0;
      EK_ASSIGN_OR_RETURN(const int64_t cycles, cycles_of(changed));
      if (cycles >= fewest) continue;
      best = std::move(changed);
      fewest = cycles;
    }
    if (fewest == before) break;
  }
  if (!HasDrivenEngine(chip.machine)) return best;
  PlanTrials trials(outline, needs, config, chip, layers, memo);
  for (const Assignment& assignment : {best, saving, narrowest, exact}) {
    EK_RETURN_IF_ERROR(trials.Try(assignment).status());
  }
  if (!trials.fewest()) return best;
  if (*trials.fewest() > fewest / kTrusted * (kTrusted + 1)) {
    EK_RETURN_IF_ERROR(
        trials.ChangeOneByOne(ByPredictedChange(ternary, saved), narrowest));
  }
  return trials.best();
}

}  // namespace edgekiln::compiler
