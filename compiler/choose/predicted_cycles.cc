#include "compiler/choose/predicted_cycles.h"

#include <map>
#include <utility>

#include "base/status_macros.h"
#include "compiler/codegen/placement.h"
#include "compiler/codegen/placement_prediction.h"
#include "compiler/partition/op_forms.h"
#include "compiler/partition/partition.h"
#include "compiler/quantize/quantize.h"

namespace edgekiln::compiler {
namespace {

// `capabilities`: the chip's, in the order of its recipe.
absl::StatusOr<v1::Partition> PlacedBy(const v1::Capabilities& capabilities,
                                       const Graph& float_graph,
                                       const v1::QuantizationNeeds& needs,
                                       const v1::QuantizationConfig& config,
                                       const ChosenChip& chip,
                                       EstimateMemo* memo) {
  EK_ASSIGN_OR_RETURN(const Graph form,
                      QuantizedForm(float_graph, needs, config));
  if (chip.offload == v1::NONE) return PartitionOnHost(form);
  EK_ASSIGN_OR_RETURN(const v1::Partition partition,
                      PartitionGraph(form, capabilities));
  return PlaceByCycles(partition, capabilities, chip.machine, chip.offload,
                       memo);
}

}  // namespace

absl::StatusOr<v1::Partition> PlacedForm(const Graph& float_graph,
                                         const v1::QuantizationNeeds& needs,
                                         const v1::QuantizationConfig& config,
                                         const ChosenChip& chip,
                                         EstimateMemo* memo) {
  EK_ASSIGN_OR_RETURN(const v1::Capabilities capabilities,
                      InOrderOf(chip.recipe, chip.capabilities));
  return PlacedBy(capabilities, float_graph, needs, config, chip, memo);
}

absl::StatusOr<PredictedNetwork> PredictNetwork(
    const Graph& float_graph, const v1::QuantizationNeeds& needs,
    const v1::QuantizationConfig& config, const ChosenChip& chip,
    EstimateMemo* memo) {
  EK_ASSIGN_OR_RETURN(const v1::Capabilities capabilities,
                      InOrderOf(chip.recipe, chip.capabilities));
  EK_ASSIGN_OR_RETURN(
      const v1::Partition partition,
      PlacedBy(capabilities, float_graph, needs, config, chip, memo));
  EK_ASSIGN_OR_RETURN(const OpForms forms, OpFormsOf(partition, capabilities));
  PlacementPredictor predictor(forms, chip.machine, memo);
  EK_RETURN_IF_ERROR(predictor.Init());
  PredictedNetwork network;
  EK_ASSIGN_OR_RETURN(network.cycles, predictor.Predict(forms.placed));
  std::map<std::string, int32_t> engines;
  for (size_t i = 0; i < forms.whole.ops.size(); ++i) {
    engines[forms.whole.ops[i].id] = forms.placed[i].engine;
  }
  for (const Op& op : float_graph.ops) {
    const auto found = engines.find(op.id);
    network.engines.push_back(found == engines.end() ? -1 : found->second);
  }
  return network;
}

}  // namespace edgekiln::compiler
