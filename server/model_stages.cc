#include "server/model_stages.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "server/accuracy.h"
#include "server/compile_job.h"
#include "server/import_call.h"
#include "server/stage_results.h"
#include "server/validate_request.h"

namespace edgekiln::server {
namespace {

constexpr char kCalibration[] = "calibration";

absl::string_view NameOf(v1::IoForm io) {
  return io == v1::IO_FLOAT ? "float" : "int";
}

// A request may leave the form to the document.
absl::Status CheckIo(const v1::NetworkOrigin& document,
                     const v1::JobOptions& options) {
  if (options.io() == v1::IO_FORM_UNSPECIFIED ||
      options.io() == document.io()) {
    return absl::OkStatus();
  }
  return MakeError(
      absl::StatusCode::kInvalidArgument,
      {.fault = Fault::kUser,
       .reason = "DOCUMENT_IO",
       .what = "the document has inputs and outputs of another form than the "
               "job asks for",
       .where = "--io, options.io",
       .limit = absl::StrCat("the document: ", NameOf(document.io())),
       .need = absl::StrCat("the job: ", NameOf(options.io())),
       .fix = "leave --io out, or compile from the model"});
}

}  // namespace

v1::IoForm ModelStages::io() const {
  return document() != nullptr ? document_.io() : IoFormOf(request_);
}

Task<absl::Status> ModelStages::OpenDocument() {
  v1::StageOptions options;
  options.mutable_open_document();
  const auto opening = stages_.Start("open_document", options,
                                     {As("document", request_.document())});
  EK_CO_ASSIGN_OR_RETURN(const v1::StageResult& opened,
                         co_await ResultOf(opening));
  document_ = opened.summary().network();
  EK_CO_RETURN_IF_ERROR(CheckIo(document_, request_.options()));
  EK_CO_ASSIGN_OR_RETURN(imported_, Only(opened, "graph"));
  EK_CO_ASSIGN_OR_RETURN(outline_, Only(opened, "outline"));
  compiled_ = imported_;
  import_.set_quantized(true);
  if (document_.ranges() != v1::NetworkOrigin::RANGES_UNSPECIFIED) {
    calibration_ = v1::NetworkOrigin::Ranges_Name(document_.ranges());
  }
  co_return absl::OkStatus();
}

Task<absl::Status> ModelStages::Import() {
  if (request_.has_document()) co_return co_await OpenDocument();
  const auto importing = stages_.Start(ImportCall(request_));
  EK_CO_ASSIGN_OR_RETURN(const v1::StageResult& imported,
                         co_await ResultOf(importing));
  import_ = imported.summary().import();
  import_warnings_.assign(imported.warnings().begin(),
                          imported.warnings().end());
  EK_CO_ASSIGN_OR_RETURN(const v1::BlobRef graph, Only(imported, "graph"));

  const auto simplifying = stages_.Start(SimplifyCall(graph));
  EK_CO_ASSIGN_OR_RETURN(const v1::StageResult& simplified,
                         co_await ResultOf(simplifying));
  EK_CO_ASSIGN_OR_RETURN(imported_, Only(simplified, "graph"));
  EK_CO_ASSIGN_OR_RETURN(outline_, Only(simplified, "outline"));
  EK_CO_ASSIGN_OR_RETURN(compiled_, CompiledGraph(simplified));
  co_return absl::OkStatus();
}

std::shared_ptr<PendingStage> ModelStages::StartConversion(
    const std::string& suffix, const v1::DataRef& files,
    const v1::BlobRef& graph, bool raw, int64_t limit,
    StageSequence& stages) const {
  v1::StageOptions options;
  if (files.files_size() == 0 &&
      (suffix == kCalibration || !NeedsOwnData(request_))) {
    v1::SynthesizeDataOptions& synthesize = *options.mutable_synthesize_data();
    synthesize.set_seed(std::max<uint64_t>(1, request_.options().seed()));
    synthesize.set_samples(limit);  // 0: its own default.
    synthesize.set_chunk_samples(kChunkSamples);
    return stages.Start("synthesize_" + suffix, options, {graph});
  }
  v1::ConvertDataOptions& convert = *options.mutable_convert_data();
  *convert.mutable_transforms() = request_.transforms();
  convert.set_limit(limit);
  convert.set_chunk_samples(kChunkSamples);
  convert.set_raw(raw);
  // Calibration looks at no labels: its result must not depend on this.
  if (suffix != kCalibration) {
    convert.set_label_offset(request_.options().label_offset());
  }
  std::vector<v1::BlobRef> inputs;
  for (const v1::Digest& file : files.files()) {
    inputs.push_back(As("data", file));
  }
  inputs.push_back(graph);
  return stages.Start("convert_" + suffix, options, std::move(inputs));
}

void ModelStages::StartCalibrationData() {
  const bool synthetic = request_.calibration().files_size() == 0;
  calibration_ = std::string(synthetic ? kSyntheticCalibration : "DATA");
  calibration_data_ =
      StartConversion(kCalibration, request_.calibration(), compiled_,
                      /*raw=*/false, /*limit=*/0, stages_);
}

Task<absl::Status> ModelStages::Calibrate() {
  EK_CO_ASSIGN_OR_RETURN(const v1::StageResult& converted,
                         co_await ResultOf(calibration_data_));
  EK_CO_ASSIGN_OR_RETURN(const Data samples, DataOf(converted));

  v1::StageOptions calibrate;
  calibrate.mutable_calibrate();
  for (const v1::Digest& chunk : samples.chunks) {
    calibration_chunks_.push_back(As("chunk", chunk));
  }
  std::vector<v1::BlobRef> inputs = {compiled_};
  inputs.insert(inputs.end(), calibration_chunks_.begin(),
                calibration_chunks_.end());
  const auto calibrating = stages_.Start("calibrate", calibrate, inputs);
  EK_CO_ASSIGN_OR_RETURN(const v1::StageResult& calibrated,
                         co_await ResultOf(calibrating));
  EK_CO_ASSIGN_OR_RETURN(statistics_, Only(calibrated, "statistics"));
  co_return absl::OkStatus();
}

Task<absl::Status> ModelStages::CheckHasData() {
  if (!NeedsOwnData(request_) || request_.data().files_size() > 0) {
    co_return absl::OkStatus();
  }
  const auto converting =
      StartConversion("data", request_.data(), imported_, /*raw=*/true,
                      request_.options().limit(), stages_);
  const auto& converted = co_await ResultOf(converting);
  co_return converted.status();
}

std::shared_ptr<PendingStage> ModelStages::StartReferenceData(
    StageSequence& stages) const {
  return StartConversion("reference", request_.data(), imported_,
                         /*raw=*/false, request_.options().limit(), stages);
}

std::shared_ptr<PendingStage> ModelStages::StartRealInputs(
    StageSequence& stages) const {
  v1::StageOptions options;
  v1::ConvertDataOptions& convert = *options.mutable_convert_data();
  *convert.mutable_transforms() = request_.transforms();
  convert.set_limit(request_.options().limit());
  convert.set_chunk_samples(kChunkSamples);
  convert.set_label_offset(request_.options().label_offset());
  convert.set_real(true);
  std::vector<v1::BlobRef> inputs;
  for (const v1::Digest& file : request_.data().files()) {
    inputs.push_back(As("data", file));
  }
  inputs.push_back(imported_);
  return stages.Start("convert_real", options, std::move(inputs));
}

Task<absl::Status> ModelStages::CheckMetric() {
  if (!Wants(request_, v1::VALIDATE) || import_.quantized() ||
      !AsksForMetric(request_.options())) {
    co_return absl::OkStatus();
  }
  if (request_.calibration().files_size() == 0) {
    co_return MakeError(
        absl::StatusCode::kInvalidArgument,
        {.fault = Fault::kUser,
         .reason = "METRIC",
         .what = "a float model whose ranges are learned from random inputs "
                 "has no accuracy",
         .where = "--metric, options.metric",
         .need = "samples to calibrate on",
         .fix = "add --calibration DATA"});
  }
  reference_data_ = StartReferenceData(stages_);
  EK_CO_ASSIGN_OR_RETURN(const v1::StageResult& converted,
                         co_await ResultOf(reference_data_));
  co_return ChooseMetric(request_.options(), converted.summary().data())
      .status();
}

void ModelStages::StartReference() {
  has_reference_ = true;
  reference_task_.Spawn(RunReference(), reference_status_);
}

Task<absl::Status> ModelStages::RunReference() {
  Reference reference{.stages = {context_, StageSequence::kAllTargets}};
  // A float model is measured as it came, on data converted for it.
  const std::shared_ptr<PendingStage> pending =
      reference_data_ != nullptr ? reference_data_
                                 : StartReferenceData(reference.stages);
  EK_CO_ASSIGN_OR_RETURN(const v1::StageResult& converted,
                         co_await ResultOf(pending));
  EK_CO_ASSIGN_OR_RETURN(const Data data, DataOf(converted));
  const auto start = [&](size_t i, const v1::Digest& chunk,
                         const std::vector<v1::BlobRef>& states) {
    v1::StageOptions options;
    options.mutable_interpret();
    std::vector<v1::BlobRef> inputs = {imported_, As("chunk", chunk)};
    inputs.insert(inputs.end(), data.labels.begin(), data.labels.end());
    inputs.insert(inputs.end(), states.begin(), states.end());
    return reference.stages.Start(absl::StrCat("interpret[", i, "]"), options,
                                  inputs);
  };
  const auto collect = [&](const v1::StageResult& result) {
    return AddChunk(result, reference.computed);
  };
  EK_CO_RETURN_IF_ERROR(co_await ForEachChunk(data, start, collect));
  reference_ = std::move(reference);
  co_return absl::OkStatus();
}

}  // namespace edgekiln::server
