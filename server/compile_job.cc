#include "server/compile_job.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/status_macros.h"
#include "google/protobuf/util/message_differencer.h"
#include "proto/convert.h"
#include "server/accuracy.h"
#include "server/chosen_recipe.h"
#include "server/deployed_model.h"
#include "server/document_fit.h"
#include "server/firmware_stages.h"
#include "server/fit_check.h"
#include "server/import_call.h"
#include "server/job_report.h"
#include "server/model_stages.h"
#include "server/quantized_stages.h"
#include "server/report_builder.h"
#include "server/requantization.h"
#include "server/sample_stages.h"
#include "server/stage_results.h"
#include "server/stage_sequence.h"
#include "server/target_stages.h"
#include "server/task_scope.h"
#include "server/validate_request.h"

// The stages of a job, and what each is handed. For all targets (ModelStages):
//
//   model ─ import ─ simplify ─ graph ───────────┬─ describe (INSPECT)
//             │                                  │
//             ├─ check_fit (with each target)    │
//             ├─ unquantize (with each target)   │
//             │ float model only, as float32     │
//             ├─ convert_calibration or          │
//             │  synthesize_calibration          │
//             └─ calibrate ─ statistics ─┐       │
//   once for all targets whose numerics  │       │
//   need the same (DeployedModel):       │       │
//                                        │       │
//   float model only:      quantize ─────┴ graph ┤
//                            │                   │
//       before it, for each chip whose engines   │
//       take more than one form of a layer, or   │
//       with an accuracy budget: choose          │
//       the same of the float network that       │
//       unquantize makes of a model which came   │
//       quantized, for targets that lack its     │
//       scheme (Requantization)                  │
//                                                └─ set_io ─ graph ─┐
//                                                ┌──────────────────┤
//                                                │  convert_data or │
//                                                │  synthesize_data ┴ chunks
//   for each target, at once (TargetStages):       │
//   target ─ resolve_target ─ needs, for the       │
//                      │      above;               │
//                      │      capabilities,        │
//                      │      machine              │
//        partition ─ tile ─ emit ─ program ────────┘
//            │                of targets that run C code instead:
//            │                emit_c ─ build_firmware ─ program
//            ├─ place         between them, where cycles decide: more than one
//            │                engine takes an op, or PAYING
//            ├─ bundle        (COMPILE)
//            ├─ count_cycles  every cycle of one inference
//            └─ simulate[i]   one chunk each (PROFILE, VALIDATE, RUN)
//                 └─ score[i] a figure per sample (VALIDATE, for metrics of
//                             values; for auc of the reference's, too)
//   interpret[i]  one chunk each, the reference (VALIDATE, RUN without target);
//                 before simulate[i] where several targets are compared with
//                 it, or its accuracy is asked for, too
//   pack_outputs  (RUN)
//
// QUANTIZE ends with the graph of quantize: interpret[i] of it and of the model
// as it came, for accuracy, and export_onnx (QuantizedStages).
//
// Of a network document (CreateJobRequest.document), open_document gives the
// graph that set_io gave; what follows is the same.
//
// A stage starts as soon as its inputs exist. The JobContext decides whether it
// is executed, found in the cache, or shared with another job.

namespace edgekiln::server {
namespace {

class CompileJob {
 public:
  CompileJob(const std::string& job_id, const v1::CreateJobRequest& request,
             JobContext& context, Executor& executor)
      : job_id_(job_id),
        request_(request),
        context_(context),
        model_(request, context, executor),
        anew_(request, context, model_),
        beside_(executor) {}

  Task<JobResult> Run();
  // To be awaited once Run() is over: it may have ended before these did, for
  // lack of memory.
  TaskScope::Joined JoinBeside() { return beside_.Join(); }
  TaskScope::Joined JoinReference() { return model_.JoinReference(); }

 private:
  std::vector<TargetRun> ResolveTargets();
  Task<absl::Status> FindRecipes();
  bool AnyGoesOn() const;
  // A float model is calibrated and quantized.
  bool MakesIntegers() const {
    return WantsProgram(request_) || Wants(request_, v1::QUANTIZE);
  }
  // What does not fit may be quantized all the same.
  bool ChecksFit() const {
    return WantsProgram(request_) || !Wants(request_, v1::QUANTIZE);
  }
  Task<absl::Status> PrepareModel();
  Task<absl::Status> DescribeAll();
  Task<absl::Status> StartFitChecks();
  Task<absl::Status> AwaitFitChecks();
  absl::StatusOr<SchemeChip> ChipOf(const v1::StageResult& resolved,
                                    const TargetRun& run) const;
  Task<absl::Status> Deploy(bool quantize);
  Task<absl::Status> CheckMetric();
  bool HasReference() const;
  void StartQuantizedData();
  Task<absl::Status> RunOne(TargetRun& run);
  JobResult Finish();

  const std::string job_id_;
  const v1::CreateJobRequest& request_;
  JobContext& context_;
  ModelStages model_;
  Requantization anew_;
  std::vector<std::unique_ptr<DeployedModel>> deployed_;
  std::vector<TargetRun> runs_;  // One even if there is no target.
  TaskScope beside_;             // The other targets, and news of cycles.
  JobResult result_;
};

bool Equal(const v1::QuantizationNeeds& a, const v1::QuantizationNeeds& b) {
  return google::protobuf::util::MessageDifferencer::Equals(a, b);
}

// A name that is misspelt is told before the model is looked at. Where none was
// given, nothing waits for this: every target has the default. Leaves in each
// run whether its target has it; an error if none has.
Task<absl::Status> CompileJob::FindRecipes() {
  if (request_.options().recipe().empty()) co_return absl::OkStatus();
  absl::Status first;
  bool some = false;
  for (TargetRun& run : runs_) {
    const auto resolved = co_await ResolvedTarget(request_, run);
    run.status = resolved.status();
    some = some || run.status.ok();
    if (first.ok()) first = run.status;
  }
  co_return some ? absl::OkStatus() : first;
}

// With several targets the description is that of the first.
Task<absl::Status> CompileJob::DescribeAll() {
  v1::StageOptions options;
  options.mutable_describe()->set_format(model_.import().format());
  for (TargetRun& run : runs_) {
    std::vector<v1::BlobRef> inputs = {model_.compiled()};
    if (run.resolve != nullptr) {
      const auto resolved = co_await ResolvedTarget(request_, run);
      if (!resolved.ok()) continue;  // That target's own failure.
      // Where there are no engines, nothing is to be placed.
      if (!HasFirmware((*resolved)->summary().target())) {
        EK_CO_ASSIGN_OR_RETURN(v1::BlobRef capabilities,
                               Only(**resolved, "capabilities"));
        inputs.push_back(std::move(capabilities));
      }
    }
    const auto describing = run.stages.Start("describe", options, inputs);
    EK_CO_ASSIGN_OR_RETURN(const v1::StageResult& described,
                           co_await ResultOf(describing));
    v1::ModelDescription& description = result_.description;
    if (description.layers_size() > 0) continue;
    description = described.summary().description();
    description.set_name(request_.model_name());
    description.set_recipe(run.report.recipe());
    for (const std::string& warning : model_.import_warnings()) {
      description.add_warnings(warning);
    }
    if (model_.has_other_floats()) {
      description.add_warnings(
          "the model computes in float16 or float64; its layers are shown in "
          "float32, the form that is compiled");
    }
    const absl::Status refusal = co_await FitRefusal(run);
    if (!refusal.ok()) *description.add_problems() = ErrorToProto(refusal);
  }
  co_return absl::OkStatus();
}

// The first stage of each target, and what the later ones need to know of it.
// Always OK.
Task<absl::Status> CompileJob::StartFitChecks() {
  for (TargetRun& run : runs_) {
    if (run.resolve == nullptr) {
      if (MakesIntegers()) anew_.Start(nullptr, run);
      continue;
    }
    const auto resolved = co_await ResolvedTarget(request_, run);
    if (!resolved.ok()) continue;  // That target's own failure.
    const auto& parts = (*resolved)->summary().target().parts();
    run.stages.set_parts({parts.begin(), parts.end()});
    const auto capabilities = Only(**resolved, "capabilities");
    if (!capabilities.ok()) continue;  // Compile() tells.
    if (MakesIntegers()) anew_.Start(&*capabilities, run);
    if (!ChecksFit()) continue;
    const bool quantizes =
        model_.document() == nullptr && !model_.import().quantized();
    StartFitCheck(request_, model_.outline(), quantizes, **resolved, run);
  }
  co_return absl::OkStatus();
}

bool CompileJob::AnyGoesOn() const {
  return std::any_of(runs_.begin(), runs_.end(),
                     [](const TargetRun& run) { return run.status.ok(); });
}

// Leaves in each run whether its model is quantized anew, and whether it can
// get a program. Always OK.
Task<absl::Status> CompileJob::AwaitFitChecks() {
  for (TargetRun& run : runs_) {
    if (run.resolve == nullptr) {
      run.status = co_await anew_.Decide(run);
      continue;
    }
    const auto resolved = co_await ResolvedTarget(request_, run);
    run.status = resolved.status();
    if (run.status.ok() && model_.document() != nullptr) {
      run.status = CheckDocumentNeeds(
          *model_.document(),
          (*resolved)->summary().target().quantization_needs(),
          run.report.target_name());
    }
    if (run.status.ok()) run.status = co_await anew_.Decide(run);
    // What was checked is not what is compiled then.
    if (run.status.ok() && run.requantized && ChecksFit()) {
      StartFitCheck(request_, anew_.outline(), /*quantizes=*/true, **resolved,
                    run);
    }
  }
  for (TargetRun& run : runs_) {
    if (run.status.ok()) run.status = co_await FitRefusal(run);
  }
  co_return absl::OkStatus();
}

absl::StatusOr<SchemeChip> CompileJob::ChipOf(const v1::StageResult& resolved,
                                              const TargetRun& run) const {
  SchemeChip chip;
  EK_ASSIGN_OR_RETURN(chip.capabilities, Only(resolved, "capabilities"));
  EK_ASSIGN_OR_RETURN(chip.machine, Only(resolved, "machine"));
  EK_ASSIGN_OR_RETURN(
      const v1::ResolvedRecipe recipe,
      ChosenRecipe(resolved.summary().target(), request_, run.stages.target()));
  chip.recipe = recipe.partition();
  if (const v1::Offload offload = OffloadOf(request_); offload != v1::ALL) {
    chip.offload = offload;
  }
  return chip;
}

// Makes a DeployedModel for each set of equal needs and hands it to its
// targets' runs. Always OK: a failure is recorded in the runs concerned.
Task<absl::Status> CompileJob::Deploy(bool quantize) {
  std::vector<v1::QuantizationNeeds> needs(runs_.size());
  std::vector<std::optional<SchemeChip>> chips(runs_.size());
  const auto quantizes = [&](const TargetRun& run) {
    return quantize || run.requantized.has_value();
  };
  bool alike = true;
  for (size_t i = 0; i < runs_.size(); ++i) {
    if (model_.document() != nullptr) {
      needs[i] = model_.document()->quantized_for();
    }
    alike = alike && quantizes(runs_[i]) == quantizes(runs_[0]);
    if (!quantizes(runs_[i]) || !runs_[i].status.ok()) continue;
    if (runs_[i].resolve == nullptr) continue;  // Plain int8.
    const auto resolved = co_await ResolvedTarget(request_, runs_[i]);
    needs[i] = (*resolved)->summary().target().quantization_needs();
    alike = alike && Equal(needs[i], needs[0]);
    if (!ChoosesSchemes(request_, needs[i])) continue;
    alike = alike && runs_.size() == 1;
    auto chip = ChipOf(**resolved, runs_[i]);
    runs_[i].status = chip.status();
    if (chip.ok()) chips[i] = *std::move(chip);
  }
  for (size_t i = 0; i < runs_.size(); ++i) {
    if (!runs_[i].status.ok()) continue;
    const auto found =
        std::find_if(deployed_.begin(), deployed_.end(), [&](const auto& one) {
          return one->is_quantized_anew() == runs_[i].requantized.has_value() &&
                 one->IsFor(needs[i], chips[i]);
        });
    if (found != deployed_.end()) {
      runs_[i].deployed = found->get();
      continue;
    }
    const int target =
        alike ? StageSequence::kAllTargets : runs_[i].stages.target();
    deployed_.push_back(std::make_unique<DeployedModel>(
        request_, context_, model_, runs_[i].requantized ? &anew_ : nullptr,
        needs[i], chips[i], target));
    runs_[i].deployed = deployed_.back().get();
    if (quantizes(runs_[i])) deployed_.back()->StartQuantizing();
  }
  if (!MakesIntegers()) co_return absl::OkStatus();
  for (const auto& deployed : deployed_) co_await deployed->Finish();
  for (TargetRun& run : runs_) {
    if (!run.status.ok()) continue;
    run.status = run.deployed->status();
    run.report.set_quantization(
        QuantizationText(run.deployed->needs(), run.deployed->choice()));
  }
  co_return absl::OkStatus();
}

// What was asked for is refused before programs are made. Of a float model,
// ModelStages has looked already.
Task<absl::Status> CompileJob::CheckMetric() {
  if (!Wants(request_, v1::VALIDATE) || !model_.import().quantized() ||
      !AsksForMetric(request_.options())) {
    co_return absl::OkStatus();
  }
  for (const auto& deployed : deployed_) {
    if (!deployed->status().ok()) continue;
    EK_CO_ASSIGN_OR_RETURN(const v1::StageResult& converted,
                           co_await ResultOf(deployed->data()));
    EK_CO_RETURN_IF_ERROR(
        ChooseMetric(request_.options(), converted.summary().data()).status());
  }
  co_return absl::OkStatus();
}

// Whether quantized networks are compared with the model as it came. Random
// inputs say nothing about ranges, so that accuracy would mean nothing.
bool CompileJob::HasReference() const {
  if (model_.import().quantized()) {
    return anew_.exists() && anew_.calibration() != kSyntheticCalibration;
  }
  return model_.calibration() != kSyntheticCalibration;
}

// Everything before the targets part ways.
Task<absl::Status> CompileJob::PrepareModel() {
  EK_CO_RETURN_IF_ERROR(co_await model_.Import());
  EK_CO_RETURN_IF_ERROR(co_await StartFitChecks());
  if (Wants(request_, v1::INSPECT)) {
    EK_CO_RETURN_IF_ERROR(co_await DescribeAll());
  }
  EK_CO_RETURN_IF_ERROR(co_await model_.CheckHasData());
  EK_CO_RETURN_IF_ERROR(co_await model_.CheckMetric());
  const bool quantize = MakesIntegers() && !model_.import().quantized();
  if (MakesIntegers()) {
    if (quantize) model_.StartCalibrationData();
    EK_CO_RETURN_IF_ERROR(co_await AwaitFitChecks());
    if (!AnyGoesOn()) co_return absl::OkStatus();
    if (quantize) EK_CO_RETURN_IF_ERROR(co_await model_.Calibrate());
    if (anew_.exists()) EK_CO_RETURN_IF_ERROR(co_await anew_.Calibrate());
  }
  EK_CO_RETURN_IF_ERROR(co_await Deploy(quantize));
  if (!AnyGoesOn()) co_return absl::OkStatus();
  if (Wants(request_, v1::QUANTIZE)) {
    StartQuantizedData();
    co_return absl::OkStatus();
  }
  if (!WantsSamples(request_)) co_return absl::OkStatus();
  for (const auto& deployed : deployed_) {
    if (deployed->status().ok()) deployed->StartData();
  }
  EK_CO_RETURN_IF_ERROR(co_await CheckMetric());
  // Who converts the inputs of an integer model does not change what it
  // computes: where its integers stay, what the chips are compared with is its
  // reference, too; see TargetStages.
  if (Wants(request_, v1::VALIDATE) && HasReference()) model_.StartReference();
  co_return absl::OkStatus();
}

// With labelled data, the float network is measured beside the quantized ones.
void CompileJob::StartQuantizedData() {
  if (!MeasuresQuantized(request_, model_)) return;
  for (const auto& deployed : deployed_) {
    if (deployed->status().ok()) deployed->StartData();
  }
  if (HasReference()) model_.StartReference();
}

// All who ask for results have done so.
JobResult CompileJob::Finish() {
  for (TargetRun& run : runs_) {
    if (!run.status.ok()) {
      if (result_.status.ok()) result_.status = run.status;
      *run.report.mutable_error() = ErrorToProto(run.status);
    }
    run.report.set_calibration(!run.requantized ? model_.calibration()
                               : run.deployed != nullptr
                                   ? run.deployed->calibration()
                                   : anew_.calibration());
    if (const v1::NetworkOrigin* document = model_.document();
        document != nullptr && model_.is_imported()) {
      run.report.set_model_name(document->model_name());
      *run.report.mutable_model() = document->model();
    }
    if (!run.requantized) {
      WarnOfUnusedCalibration(request_, model_, run.report);
    }
    ReportRequantization(request_, model_, run);
    AddStages(model_.stages(), run.report);
    if (run.requantized) AddStages(anew_.stages(), run.report);
    if (run.deployed != nullptr) AddStages(run.deployed->stages(), run.report);
    AddStages(model_.reference().stages, run.report);
    AddStages(run.stages, run.report);
    std::move(run.artifacts.begin(), run.artifacts.end(),
              std::back_inserter(result_.artifacts));
    result_.reports.push_back(std::move(run.report));
  }
  // Inspection alone measures nothing.
  if (!WantsReport(request_)) result_.reports.clear();
  return std::move(result_);
}

std::vector<TargetRun> CompileJob::ResolveTargets() {
  std::vector<TargetRun> runs;
  for (int i = 0; i < request_.targets_size(); ++i) {
    TargetRun& run = runs.emplace_back(TargetRun{
        .stages = {context_, i}, .report = NewReport(job_id_, request_, i)});
    run.resolve = run.stages.Start(ResolveCall(request_.targets(i).digest()));
  }
  if (runs.empty()) {
    constexpr int kNone = StageSequence::kAllTargets;
    runs.push_back({.stages = {context_, kNone},
                    .report = NewReport(job_id_, request_, kNone)});
  }
  return runs;
}

Task<absl::Status> CompileJob::RunOne(TargetRun& run) {
  if (WantsProgram(request_)) {
    co_return co_await RunOnTarget(request_, model_, context_, beside_, run);
  }
  if (Wants(request_, v1::QUANTIZE)) {
    co_return co_await RunQuantized(request_, model_, context_, run);
  }
  if (Wants(request_, v1::RUN)) {
    co_return co_await RunOnReference(request_, model_, context_, run);
  }
  if (run.resolve == nullptr) co_return absl::OkStatus();
  const auto resolved = co_await ResolvedTarget(request_, run);
  co_return resolved.status();
}

Task<JobResult> CompileJob::Run() {
  runs_ = ResolveTargets();
  const absl::Status found = co_await FindRecipes();
  if (!found.ok()) co_return Finish();
  const absl::Status prepared = co_await PrepareModel();
  for (TargetRun& run : runs_) {
    if (run.status.ok()) run.status = prepared;  // Else refused.
    if (run.status.ok() && &run != &runs_[0]) {
      beside_.Spawn(RunOne(run), run.status);
    }
  }
  if (runs_[0].status.ok()) runs_[0].status = co_await RunOne(runs_[0]);
  co_await JoinBeside();
  co_await JoinReference();
  co_return Finish();
}

}  // namespace

Task<JobResult> RunCompileJob(std::string job_id,
                              const v1::CreateJobRequest& request,
                              JobContext& context, Executor& executor) {
  CompileJob job(job_id, request, context, executor);
  JobResult result = co_await job.Run();
  co_await job.JoinBeside();
  co_await job.JoinReference();
  co_return result;
}

}  // namespace edgekiln::server
