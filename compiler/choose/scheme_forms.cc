#include "compiler/choose/scheme_forms.h"

#include <string>
#include <utility>

#include "base/status_macros.h"
#include "compiler/quantize/integer_choice.h"
#include "compiler/quantize/layer_schemes.h"

namespace edgekiln::compiler {
namespace {

v1::LayerScheme::Weights WeightsOf(v1::WeightValues values) {
  switch (values) {
    case v1::WEIGHTS_INT4:
      return v1::LayerScheme::INT4;
    case v1::WEIGHTS_TERNARY:
      return v1::LayerScheme::TERNARY;
    default:
      return v1::LayerScheme::INT8;
  }
}

std::vector<v1::LayerScheme::Weights> FormsFor(
    const v1::QuantizationNeeds& needs, const std::string& op) {
  for (const v1::QuantizationNeeds::Op& need : needs.ops()) {
    if (need.op() != op) continue;
    std::vector<v1::LayerScheme::Weights> forms;
    // The host takes the layer as int8.
    if (need.weight_values() == v1::WEIGHTS_TERNARY) {
      forms.push_back(v1::LayerScheme::INT8);
    }
    forms.push_back(WeightsOf(need.weight_values()));
    for (const v1::QuantizationNeeds::Op::Form& form : need.narrower()) {
      forms.push_back(WeightsOf(form.weight_values()));
    }
    return forms;
  }
  return {};
}

}  // namespace

absl::StatusOr<std::vector<LayerForms>> FormsOf(
    const Graph& graph, const v1::QuantizationConfig& config,
    const v1::QuantizationNeeds& needs) {
  EK_ASSIGN_OR_RETURN(const std::vector<v1::LayerScheme> schemes,
                      LayerSchemes(graph, config, needs, /*has_samples=*/true));
  EK_ASSIGN_OR_RETURN(const std::vector<v1::LayerScheme> asked,
                      AskedSchemes(graph, config));
  std::vector<LayerForms> layers;
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    const Op& op = graph.ops[i];
    if (WeightAxis(op) < 0 || schemes[i].keep_float() == v1::ON ||
        asked[i].weights() != v1::LayerScheme::WEIGHTS_UNSPECIFIED) {
      continue;
    }
    LayerForms layer = {.op = static_cast<int32_t>(i),
                        .weights = FormsFor(needs, std::string(op.kind()))};
    if (layer.weights.size() > 1) layers.push_back(std::move(layer));
  }
  return layers;
}

v1::QuantizationConfig ConfigFor(const Graph& graph,
                                 const v1::QuantizationConfig& config,
                                 const std::vector<LayerForms>& layers,
                                 const Assignment& assignment) {
  v1::QuantizationConfig chosen = config;
  for (size_t i = 0; i < layers.size(); ++i) {
    if (assignment[i] == 0) continue;
    v1::QuantizationConfig::LayerRule& rule = *chosen.add_layers();
    rule.set_layer(graph.ops[layers[i].op].id);
    rule.mutable_scheme()->set_weights(layers[i].weights[assignment[i]]);
  }
  return chosen;
}

}  // namespace edgekiln::compiler
