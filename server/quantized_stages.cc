#include "server/quantized_stages.h"

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "server/accuracy.h"
#include "server/accuracy_stages.h"
#include "server/deployed_model.h"
#include "server/report_builder.h"
#include "server/stage_results.h"

namespace edgekiln::server {
namespace {

// What the interpreter makes of the deployed graph on `data`.
Task<absl::Status> Interpret(const Data& data, v1::Metric metric,
                             JobContext& context, TargetRun& run,
                             Computed& computed) {
  const auto start = [&](size_t i, const v1::Digest& chunk,
                         const std::vector<v1::BlobRef>& states) {
    v1::StageOptions options;
    options.mutable_interpret();
    std::vector<v1::BlobRef> inputs = {run.deployed->graph(),
                                       As("chunk", chunk)};
    inputs.insert(inputs.end(), data.labels.begin(), data.labels.end());
    inputs.insert(inputs.end(), states.begin(), states.end());
    return run.stages.Start(absl::StrCat("interpret_quantized[", i, "]"),
                            options, inputs);
  };
  const auto collect = [&](const v1::StageResult& result) -> absl::Status {
    EK_RETURN_IF_ERROR(AddChunk(result, computed));
    context.OnSamples(
        ProgressOf(computed.totals, data.samples, run.stages.target(), metric));
    return absl::OkStatus();
  };
  co_return co_await ForEachChunk(data, start, collect);
}

Task<absl::Status> Measure(const v1::CreateJobRequest& request,
                           const ModelStages& model, JobContext& context,
                           TargetRun& run) {
  EK_CO_ASSIGN_OR_RETURN(const v1::StageResult& converted,
                         co_await ResultOf(run.deployed->data()));
  EK_CO_ASSIGN_OR_RETURN(const Data data, DataOf(converted));
  EK_CO_ASSIGN_OR_RETURN(const v1::Metric metric,
                         ChooseMetric(request.options(), data.summary));
  Computed quantized;
  EK_CO_RETURN_IF_ERROR(
      co_await Interpret(data, metric, context, run, quantized));
  if (model.has_reference()) {
    co_await model.JoinReference();
    EK_CO_RETURN_IF_ERROR(model.reference_status());
  }
  AccuracyStages stages(request, model, run);
  co_return co_await stages.Run(
      metric, data, quantized,
      model.has_reference() ? model.reference().computed : quantized);
}

std::shared_ptr<PendingStage> StartExport(TargetRun& run) {
  v1::StageOptions options;
  options.mutable_export_onnx();
  return run.stages.Start("export_onnx", options, {run.deployed->graph()});
}

void Describe(const v1::CreateJobRequest& request, const ModelStages& model,
              TargetRun& run) {
  v1::Report& report = run.report;
  const DeployedModel& deployed = *run.deployed;
  // Both are about programs, of which there is none.
  report.clear_recipe();
  report.clear_offload();
  v1::QuantizationReport& quantized = *report.mutable_quantized();
  quantized = deployed.quantization();
  if (deployed.choice().layers_size() > 0) {
    *quantized.mutable_choice() = deployed.choice();
  }
  report.set_quantization(
      QuantizationText(deployed.needs(), deployed.choice()));
  if (run.requantized) {
    quantized.set_requantized(*run.requantized);
    // A warning says it, as in every report.
    if (quantized.notes_size() > 0) quantized.mutable_notes()->RemoveLast();
    return;
  }
  if (model.import().quantized()) {
    quantized.add_notes(
        "the model came quantized and stays exactly as it is; quantize the "
        "float model it was made from to choose how, or say `requantize: ON` "
        "in "
        "a quantization file");
    return;
  }
  if (model.calibration() != kSyntheticCalibration) return;
  report.add_warnings(absl::StrCat(
      "without calibration data, ranges come from random inputs: they are a "
      "guess, no signal-to-noise ratio of results is known",
      request.data().files_size() > 0 ? ", and no accuracy is given" : ""));
}

}  // namespace

bool MeasuresQuantized(const v1::CreateJobRequest& request,
                       const ModelStages& model) {
  return request.data().files_size() > 0 &&
         (model.import().quantized() ||
          model.calibration() != kSyntheticCalibration);
}

Task<absl::Status> RunQuantized(const v1::CreateJobRequest& request,
                                const ModelStages& model, JobContext& context,
                                TargetRun& run) {
  Describe(request, model, run);
  std::shared_ptr<PendingStage> exporting;
  if (request.options().export_onnx()) exporting = StartExport(run);
  if (MeasuresQuantized(request, model)) {
    EK_CO_RETURN_IF_ERROR(co_await Measure(request, model, context, run));
  }
  if (exporting == nullptr) co_return absl::OkStatus();
  EK_CO_ASSIGN_OR_RETURN(const v1::StageResult& exported,
                         co_await ResultOf(exporting));
  EK_CO_ASSIGN_OR_RETURN(const v1::BlobRef onnx, Only(exported, "model"));
  v1::Artifact& artifact = run.artifacts.emplace_back();
  artifact.set_path("model.onnx");
  *artifact.mutable_digest() = onnx.digest();
  artifact.set_target(run.stages.target());
  co_return absl::OkStatus();
}

}  // namespace edgekiln::server
