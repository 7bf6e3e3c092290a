#include "compiler/choose/given_weights.h"

#include <algorithm>
#include <cstdint>

#include "base/status_macros.h"
#include "compiler/quantize/ternary_weights.h"

namespace edgekiln::compiler {
namespace {

// Over all layers, after each has been tried alone.
constexpr int kMostRounds = 2;

int32_t TernaryForm(const LayerForms& layer) {
  const auto found = std::find(layer.weights.begin(), layer.weights.end(),
                               v1::LayerScheme::TERNARY);
  return found == layer.weights.end()
             ? 0
             : static_cast<int32_t>(found - layer.weights.begin());
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
  for (const int i : ternary) {
    Assignment changed = exact;
    changed[i] = narrowest[i];
    EK_ASSIGN_OR_RETURN(const int64_t cycles, cycles_of(changed));
    if (cycles < of_exact) saving[i] = narrowest[i];
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
  return best;
}

}  // namespace edgekiln::compiler
