#include "compiler/quantize/equalized_network.h"

#include <utility>

#include "base/status_macros.h"
#include "compiler/quantize/calibrate.h"
#include "compiler/quantize/equalize.h"
#include "compiler/quantize/equalize_activations.h"
#include "compiler/quantize/layer_schemes.h"
#include "compiler/quantize/limits.h"

namespace edgekiln::compiler {
namespace {

std::vector<bool> PerTensor(const std::vector<v1::LayerScheme>& schemes) {
  std::vector<bool> per_tensor;
  for (const v1::LayerScheme& scheme : schemes) {
    per_tensor.push_back(scheme.per_tensor() == v1::ON);
  }
  return per_tensor;
}

}  // namespace

absl::StatusOr<std::optional<EqualizedNetwork>> EqualizeNetwork(
    const Graph& graph, const GivenStatistics& given,
    const v1::QuantizeOptions& options,
    const std::vector<v1::LayerScheme>& schemes,
    const CalibrationSamples& samples, absl::Span<const v1::Chunk> chunks,
    ops::CpuPath cpu_path) {
  if (options.config().equalization() == v1::OFF) return std::nullopt;
  const ScaleRules rules = RulesFor(options.config(), options.needs());
  Graph equalized = graph;  // Constants stay shared.
  const TensorFactors factors = FitLimits(rules, equalized);
  if (samples.size() > 0) {
    const bool weights = Equalize(equalized, PerTensor(schemes));
    EK_ASSIGN_OR_RETURN(
        const bool activations,
        EqualizeActivations(schemes, samples, rules, cpu_path, equalized));
    if (weights || activations) {
      EK_ASSIGN_OR_RETURN(
          v1::CalibrationStatistics calibrated,
          given.measured ? Recalibrate(equalized, graph, given.statistics,
                                       chunks, cpu_path)
                         : Calibrate(equalized, chunks, nullptr, cpu_path));
      return EqualizedNetwork{std::move(equalized), std::move(calibrated)};
    }
  }
  if (factors.empty()) return std::nullopt;
  return EqualizedNetwork{std::move(equalized),
                          Multiplied(given.statistics, factors)};
}

void SetFittedLimits(const v1::QuantizeOptions& options, Graph& graph) {
  if (options.config().equalization() == v1::OFF) return;
  SetFittedLimits(RulesFor(options.config(), options.needs()), graph);
}

}  // namespace edgekiln::compiler
