#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "compiler/quantize/growth_warning.h"
#include "compiler/quantize/input_rows.h"
#include "compiler/quantize/output_change.h"
#include "compiler/quantize/quantize.h"
#include "compiler/quantize/round_down.h"
#include "server/kept_integers.h"
#include "server/worker/stages/graph_input.h"
#include "server/worker/stages/stages.h"

namespace edgekiln::server {
namespace {

// Of a model that was quantized anew: how far its outputs are from those of the
// model as it came, on the calibration data or, without any, random inputs. The
// last note says so.
absl::Status AddChange(const compiler::Graph& source, const StageInputs& inputs,
                       const std::vector<v1::Chunk>& samples,
                       const compiler::Graph& graph,
                       v1::QuantizationReport& report) {
  EK_ASSIGN_OR_RETURN(const std::vector<v1::Chunk> trial,
                      inputs.ParseAll<v1::Chunk>("trial"));
  EK_ASSIGN_OR_RETURN(const std::optional<compiler::OutputChange> change,
                      compiler::CompareOutputs(
                          source, graph, samples.empty() ? trial : samples));
  report.clear_optional_output_sqnr_db();
  if (change && change->sqnr_db) {
    report.set_output_sqnr_db(*change->sqnr_db);
  }
  report.add_notes(
      change
          ? compiler::ToText(*change, samples.empty() ? "random inputs"
                                                      : "calibration samples")
          : "how far the outputs moved is not known: samples follow from "
            "each other, or the first output is not a real number");
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<StageOutput> RunQuantize(const v1::QuantizeOptions& options,
                                        const StageInputs& inputs,
                                        const ProgressSink& progress) {
  EK_ASSIGN_OR_RETURN(const auto read, GraphInput(inputs));
  const compiler::Graph& graph = *read;
  EK_ASSIGN_OR_RETURN(const v1::CalibrationStatistics statistics,
                      inputs.Parse<v1::CalibrationStatistics>("statistics"));
  EK_ASSIGN_OR_RETURN(const std::vector<v1::Chunk> samples,
                      inputs.ParseAll<v1::Chunk>("chunk"));
  std::optional<compiler::Graph> source;
  std::optional<compiler::Graph> kept;
  if (inputs.Has("source")) {
    EK_ASSIGN_OR_RETURN(const auto stored,
                        inputs.ParseLarge<v1::Graph>("source"));
    EK_ASSIGN_OR_RETURN(source, GraphOf(*stored));
    // Who says how to quantize gets that.
    if (options.config().ByteSizeLong() == 0) {
      kept = compiler::RoundedDown(*source, options.needs());
    }
  }
  compiler::QuantizedNetwork quantized;
  if (kept) {
    quantized.report = compiler::ReportOfKept(*kept);
    quantized.report.add_notes(kIntegersKept);
    quantized.graph = *std::move(kept);
  } else {
    EK_ASSIGN_OR_RETURN(
        quantized,
        compiler::Quantize(graph, options,
                           {.statistics = statistics,
                            .samples = samples,
                            .progress =
                                [&](int64_t done, int64_t total) {
                                  v1::StageProgress state;
                                  state.set_done(done);
                                  state.set_total(total);
                                  state.set_unit("layers");
                                  progress(state);
                                }}),
        "quantizing");
  }
  std::string warning = compiler::GrowthWarning(quantized.report);
  compiler::AddInputRows(graph, quantized.graph, statistics, quantized.report);
  StageOutput output;
  for (std::string* text : {&quantized.warning, &warning}) {
    if (!text->empty()) output.warnings.push_back(std::move(*text));
  }
  if (source) {
    EK_RETURN_IF_ERROR(
        AddChange(*source, inputs, samples, quantized.graph, quantized.report));
    *output.summary.mutable_quantization()->mutable_notes() =
        quantized.report.notes();
  }
  if (options.rank()) {
    *output.summary.mutable_quantization() = quantized.report;
  }
  output.Add("graph", compiler::GraphToProto(quantized.graph));
  output.Add("quantization", quantized.report);
  return output;
}

}  // namespace edgekiln::server
