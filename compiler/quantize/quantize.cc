#include "compiler/quantize/quantize.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "compiler/quantize/calibration_samples.h"
#include "compiler/quantize/equalized_network.h"
#include "compiler/quantize/fill_values.h"
#include "compiler/quantize/integer_graph.h"
#include "compiler/quantize/layer_ranking.h"
#include "compiler/quantize/layer_schemes.h"
#include "compiler/quantize/quantize_report.h"
#include "compiler/quantize/refine.h"

namespace edgekiln::compiler {
namespace {

constexpr int64_t kDefaultSamples = 256;

// No samples: nothing is measured.
absl::StatusOr<QuantizedNetwork> QuantizeEqualized(
    const Graph& float_graph, const v1::CalibrationStatistics& statistics,
    const std::vector<v1::LayerScheme>& schemes, CalibrationSamples samples,
    const v1::QuantizeOptions& options, const QuantizeInputs& inputs) {
  const bool measures = samples.size() > 0;
  IntegerGraph integers(float_graph, &statistics, options, schemes);
  QuantizedNetwork network;
  EK_ASSIGN_OR_RETURN(
      network.graph,
      integers.Make(measures ? &samples : nullptr, inputs.cpu_path));
  for (const Op& op : float_graph.ops) {
    v1::QuantizedLayer& layer = *network.report.add_layers();
    layer.set_id(op.id);
    layer.set_op(std::string(op.kind()));
  }
  if (measures) {
    const int64_t wanted = options.config().samples() > 0
                               ? options.config().samples()
                               : kDefaultSamples;
    samples.Limit(std::min(wanted, SamplesThatFit(float_graph, network.graph)));
    network.report.set_samples(samples.size());
    const auto ops = static_cast<int64_t>(float_graph.ops.size());
    const int64_t total = ops * (options.rank() ? 2 : 1);
    EK_RETURN_IF_ERROR(
        Refine(float_graph, samples,
               RefineOptionsOf(options, schemes, inputs.cpu_path),
               network.graph, network.report, [&](int64_t done) {
                 if (inputs.progress != nullptr) inputs.progress(done, total);
               }));
    EK_RETURN_IF_ERROR(VerifyGraph(network.graph), "after quantization");
    SetOutputRatio(float_graph, network.report);
    if (options.rank()) {
      EK_RETURN_IF_ERROR(RankLayers(
          float_graph, network.graph, samples, inputs.cpu_path,
          [&](int64_t done) {
            if (inputs.progress != nullptr) inputs.progress(ops + done, total);
          },
          network.report));
    }
  }
  DescribeLayers(float_graph, network.graph, schemes, integers.Facts(),
                 network.report);
  return network;
}

}  // namespace

absl::StatusOr<QuantizedNetwork> Quantize(const Graph& float_graph,
                                          const v1::QuantizeOptions& asked,
                                          const QuantizeInputs& inputs) {
  const v1::QuantizeOptions options = WithHeldNeeds(asked);
  EK_ASSIGN_OR_RETURN(CalibrationSamples samples,
                      CalibrationSamples::Create(float_graph, inputs.samples));
  samples.Keep(0, inputs.sample_step);
  const bool measures =
      samples.size() > 0 && !samples.sequential() && float_graph.states.empty();
  EK_ASSIGN_OR_RETURN(
      const std::vector<v1::LayerScheme> schemes,
      LayerSchemes(float_graph, options.config(), options.needs(), measures));
  EK_RETURN_IF_ERROR(CheckIsFloat(float_graph));
  if (!measures) samples.Limit(0);
  const std::vector<bool> kept = KeptFloat(schemes);
  const v1::ElementType activations =
      ActivationsOf(options.config(), options.needs());
  const std::optional<ClippedFills> clipped =
      ClipFills(float_graph, inputs.statistics, kept, activations);
  const Graph& graph = clipped ? clipped->graph : float_graph;
  const v1::CalibrationStatistics& statistics =
      clipped ? clipped->statistics : inputs.statistics;
  EK_ASSIGN_OR_RETURN(
      const std::optional<EqualizedNetwork> equalized,
      EqualizeNetwork(graph, {statistics, /*measured=*/!clipped}, options,
                      schemes, samples, inputs.samples, inputs.cpu_path));
  EK_ASSIGN_OR_RETURN(
      QuantizedNetwork network,
      QuantizeEqualized(equalized ? equalized->graph : graph,
                        equalized ? equalized->statistics : statistics, schemes,
                        std::move(samples), options, inputs));
  network.warning = FillWarning(graph, statistics, kept, activations);
  return network;
}

absl::StatusOr<Graph> QuantizeGraph(const Graph& float_graph,
                                    const v1::CalibrationStatistics& statistics,
                                    const v1::QuantizationNeeds& needs) {
  v1::QuantizeOptions options;
  *options.mutable_needs() = needs;
  EK_ASSIGN_OR_RETURN(
      QuantizedNetwork network,
      Quantize(float_graph, options, {.statistics = statistics}));
  return std::move(network.graph);
}

absl::StatusOr<Graph> QuantizedForm(const Graph& float_graph,
                                    const v1::QuantizationNeeds& needs,
                                    const v1::QuantizationConfig& config) {
  v1::QuantizeOptions options;
  *options.mutable_config() = config;
  *options.mutable_needs() = needs;
  options = WithHeldNeeds(std::move(options));
  EK_ASSIGN_OR_RETURN(
      std::vector<v1::LayerScheme> schemes,
      LayerSchemes(float_graph, options.config(), options.needs(), false));
  Graph graph = float_graph;  // Constants stay those of the float graph.
  SetFittedLimits(options, graph);
  return IntegerGraph(graph, nullptr, options, std::move(schemes)).Make();
}

}  // namespace edgekiln::compiler
