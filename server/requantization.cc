#include "server/requantization.h"

#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/status_macros.h"
#include "server/import_call.h"
#include "server/kept_integers.h"
#include "server/stage_results.h"
#include "server/validate_request.h"

namespace edgekiln::server {
namespace {

constexpr char kCalibration[] = "calibration";

v1::Switch AskedFor(const v1::CreateJobRequest& request) {
  return request.options().quantization().requantize();
}

// Whether the request says how to quantize, apart from whether to.
bool SaysHowToQuantize(const v1::CreateJobRequest& request) {
  v1::QuantizationConfig config = request.options().quantization();
  config.clear_requantize();
  return config.ByteSizeLong() > 0 || request.options().has_calibrate();
}

// `reason`: why engines do not take the model as it came.
std::string KeptText(absl::string_view reason) {
  return absl::StrCat(
      "the target's engines do not round as the model does, which came "
      "quantized (",
      reason, "): ", kIntegersKept,
      "; `requantize: OFF` in a quantization file keeps its rounding, on the "
      "host");
}

}  // namespace

void Requantization::Start(const v1::BlobRef* capabilities,
                           TargetRun& run) const {
  const v1::Switch asked = AskedFor(request_);
  const bool may_gain =
      capabilities != nullptr && OffloadOf(request_) != v1::NONE;
  if (model_.document() != nullptr || !model_.import().quantized() ||
      asked == v1::OFF || (!may_gain && asked != v1::ON)) {
    return;
  }
  run.unquantize =
      run.stages.Start(UnquantizeCall(model_.compiled(), capabilities, asked));
}

Task<absl::Status> Requantization::Decide(TargetRun& run) {
  if (run.unquantize == nullptr) co_return absl::OkStatus();
  EK_CO_ASSIGN_OR_RETURN(const v1::StageResult& decided,
                         co_await ResultOf(run.unquantize));
  if (All(decided, "graph").empty()) co_return absl::OkStatus();
  EK_CO_ASSIGN_OR_RETURN(graph_, Only(decided, "graph"));
  EK_CO_ASSIGN_OR_RETURN(outline_, Only(decided, "outline"));
  const std::vector<v1::Digest> ranges = All(decided, "statistics");
  if (!ranges.empty()) statistics_ = As("statistics", ranges[0]);
  run.requantized = decided.summary().unquantize().reason();
  co_return absl::OkStatus();
}

Task<absl::Status> Requantization::Calibrate() {
  const bool has_data = request_.calibration().files_size() > 0;
  const auto converting =
      model_.StartConversion(kCalibration, request_.calibration(), graph_,
                             /*raw=*/false, /*limit=*/0, stages_);
  EK_CO_ASSIGN_OR_RETURN(const v1::StageResult& converted,
                         co_await ResultOf(converting));
  EK_CO_ASSIGN_OR_RETURN(const Data data, DataOf(converted));
  std::vector<v1::BlobRef> inputs = {graph_};
  for (const v1::Digest& chunk : data.chunks) {
    inputs.push_back(As("chunk", chunk));
    (has_data ? samples_ : trial_)
        .push_back(As(has_data ? "chunk" : "trial", chunk));
  }
  if (has_data) calibration_ = "DATA";
  if (!has_data && !statistics_.digest().hash().empty()) {
    co_return absl::OkStatus();
  }
  if (!has_data) calibration_ = std::string(kSyntheticCalibration);
  v1::StageOptions options;
  options.mutable_calibrate();
  const auto calibrating =
      stages_.Start("calibrate", options, std::move(inputs));
  EK_CO_ASSIGN_OR_RETURN(const v1::StageResult& calibrated,
                         co_await ResultOf(calibrating));
  EK_CO_ASSIGN_OR_RETURN(statistics_, Only(calibrated, "statistics"));
  co_return absl::OkStatus();
}

std::vector<v1::BlobRef> Requantization::CalibratedModel() const {
  std::vector<v1::BlobRef> inputs = {graph_, statistics_};
  inputs.insert(inputs.end(), samples_.begin(), samples_.end());
  return inputs;
}

std::vector<v1::BlobRef> Requantization::ComparedWith() const {
  std::vector<v1::BlobRef> inputs = {As("source", model_.compiled().digest())};
  inputs.insert(inputs.end(), trial_.begin(), trial_.end());
  return inputs;
}

void ReportRequantization(const v1::CreateJobRequest& request,
                          const ModelStages& model, TargetRun& run) {
  if (!run.requantized) {
    if (model.import().quantized() && model.document() == nullptr &&
        SaysHowToQuantize(request) &&
        (WantsProgram(request) || Wants(request, v1::QUANTIZE))) {
      run.report.add_warnings(
          "how to quantize is not used: the model came quantized and keeps its "
          "integers; `requantize: ON` in a quantization file quantizes it "
          "anew");
    }
    return;
  }
  const bool kept = run.deployed != nullptr && run.deployed->keeps_integers();
  std::string text =
      kept ? KeptText(*run.requantized)
      : AskedFor(request) == v1::ON
          ? "the model came quantized and was quantized anew, as the "
            "quantization file says"
          : absl::StrCat(
                "the model came quantized in a form that the target's engines "
                "do not take (",
                *run.requantized,
                ") and was quantized anew; `requantize: OFF` in a quantization "
                "file keeps its integers, on the host");
  if (run.deployed != nullptr) {
    // The last one says how far outputs moved.
    const auto& notes = run.deployed->quantization().notes();
    if (!notes.empty()) absl::StrAppend(&text, "; ", *notes.rbegin());
  }
  if (run.report.calibration().empty() && !kept) {
    absl::StrAppend(&text,
                    "; ranges are those that it came with: samples given by "
                    "--calibration make better ones");
  } else if (run.report.calibration() == kSyntheticCalibration) {
    absl::StrAppend(&text,
                    "; ranges come from random inputs and are a guess: give "
                    "samples by --calibration");
  }
  run.report.add_warnings(std::move(text));
}

}  // namespace edgekiln::server
