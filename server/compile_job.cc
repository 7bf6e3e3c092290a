#include "server/compile_job.h"

#include <algorithm>
#include <future>
#include <memory>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "server/daemon/report_builder.h"
#include "server/proto_convert.h"
#include "server/stage_results.h"
#include "server/validate_request.h"
#include "server/version.h"

// The stages of a job, and what each is handed:
//
//   model ─ import ─ simplify ─ graph ──────────────┬─ describe     (INSPECT)
//             │ float model only                    │
//             ├─ convert_calibration | synthesize_calibration
//             └─ calibrate ─ quantize ─ graph ──────┤
//                                                   ├─ convert_data |
//                                                   synthesize_data ─ chunks
//   per target, all targets at once:                │
//   target ─ resolve_target ─ capabilities, machine │
//        partition ─ tile ─ emit ─ program ─────────┘
//            ├─ bundle                                (COMPILE)
//            ├─ count_cycles                          every cycle of one
//            inference └─ simulate[i]  one chunk each           (PROFILE,
//            VALIDATE, RUN)
//   interpret[i]  one chunk each: the reference       (VALIDATE, RUN without
//   target) pack_outputs                                      (RUN)
//
// A stage starts as soon as what it is handed exists. Whether it is executed,
// found in the cache, or shared with another job is the JobContext's affair.

namespace edgekiln::server {
namespace {

// Drops one value in ten thousand at each end.
constexpr int kDefaultPercentilePpm = 999900;

using Stages = std::vector<std::shared_ptr<PendingStage>>;
using Totals = v1::StageSummary::Samples;

bool WantsProgram(const v1::CreateJobRequest& request) {
  return request.targets_size() > 0 &&
         (Wants(request, v1::COMPILE) || Wants(request, v1::PROFILE) ||
          Wants(request, v1::VALIDATE) || Wants(request, v1::RUN));
}

// Whether chunks of input are computed, on the chip or on the reference.
bool WantsSamples(const v1::CreateJobRequest& request) {
  return (Wants(request, v1::PROFILE) && !request.options().timing_only()) ||
         Wants(request, v1::VALIDATE) || Wants(request, v1::RUN);
}

// What all targets share.
struct ModelSide {
  v1::StageSummary::Import import;
  v1::BlobRef imported;  // Simplified, element types as in the model.
  v1::BlobRef deployed;  // What targets get: quantized.
  std::string calibration;
  std::vector<std::string> import_warnings;
  std::shared_ptr<PendingStage> data;  // Chunks for `deployed`; may be null.
};

// What the reference said about the same data.
struct Reference {
  Totals totals;
  Stages stages;
};

class CompileJob {
 public:
  CompileJob(const std::string& job_id, const v1::CreateJobRequest& request,
             JobContext& context)
      : job_id_(job_id), request_(request), context_(context) {}

  JobResult Run();

 private:
  struct TargetRun {
    v1::Report report;
    std::vector<v1::Artifact> artifacts;
    Stages stages;
    std::shared_ptr<PendingStage> resolve;
    std::shared_ptr<PendingStage> describe;
    absl::Status status;
  };

  // Each ends at the first stage that fails.
  absl::Status PrepareModel();
  absl::Status Quantize();
  absl::Status DescribeAll(std::vector<TargetRun>& runs, JobResult& result);
  absl::Status RunReferenceOnly(TargetRun& run);
  absl::Status RunTarget(int index, TargetRun& run);
  absl::Status Simulate(int index, const std::vector<v1::BlobRef>& program,
                        TargetRun& run);
  absl::StatusOr<Reference> RunReference();

  std::shared_ptr<PendingStage> StartData(const std::string& suffix,
                                          const v1::DataRef& files,
                                          const v1::BlobRef& graph, bool raw,
                                          int64_t limit, Stages& stages);
  absl::Status PackOutputs(int index, const std::vector<v1::Digest>& outputs,
                           TargetRun& run);
  absl::Status RunShared(std::vector<TargetRun>& runs, JobResult& result);
  JobResult Finish(std::vector<TargetRun> runs, JobResult result);
  v1::Report NewReport(int index) const;

  std::shared_ptr<PendingStage> Start(std::string name, int target,
                                      v1::StageOptions options,
                                      std::vector<v1::BlobRef> inputs,
                                      Stages& stages) {
    stages.push_back(context_.Start(
        {std::move(name), target, std::move(options), std::move(inputs)}));
    return stages.back();
  }
  absl::StatusOr<v1::StageResult> Do(std::string name, int target,
                                     v1::StageOptions options,
                                     std::vector<v1::BlobRef> inputs,
                                     Stages& stages) {
    return Start(std::move(name), target, std::move(options), std::move(inputs),
                 stages)
        ->Wait();
  }

  const std::string job_id_;
  const v1::CreateJobRequest& request_;
  JobContext& context_;
  Stages shared_;  // Stages that serve all targets.
  ModelSide model_;
  std::shared_future<absl::StatusOr<Reference>> reference_;
};

absl::Status CompileJob::PrepareModel() {
  v1::StageOptions import;
  v1::ImportOptions& options = *import.mutable_import();
  std::vector<v1::BlobRef> files = {As("model", request_.model())};
  *options.mutable_dimensions() = request_.bindings().dimensions();
  for (const v1::NamedBlob& input : request_.bindings().inputs()) {
    options.add_bound_inputs(input.name());
    files.push_back(As("bound_input", input.digest()));
  }
  for (const v1::NamedBlob& file : request_.bindings().external_data()) {
    options.add_external_data(file.name());
    files.push_back(As("external_data", file.digest()));
  }
  EK_ASSIGN_OR_RETURN(const v1::StageResult imported,
                      Do("import", -1, import, std::move(files), shared_));
  model_.import = imported.summary().import();
  model_.import_warnings.assign(imported.warnings().begin(),
                                imported.warnings().end());
  EK_ASSIGN_OR_RETURN(const v1::BlobRef graph, Only(imported, "graph"));

  v1::StageOptions simplify;
  simplify.mutable_simplify();
  EK_ASSIGN_OR_RETURN(const v1::StageResult simplified,
                      Do("simplify", -1, simplify, {graph}, shared_));
  EK_ASSIGN_OR_RETURN(model_.imported, Only(simplified, "graph"));
  return absl::OkStatus();
}

std::shared_ptr<PendingStage> CompileJob::StartData(const std::string& suffix,
                                                    const v1::DataRef& files,
                                                    const v1::BlobRef& graph,
                                                    bool raw, int64_t limit,
                                                    Stages& stages) {
  v1::StageOptions options;
  if (files.files_size() == 0) {
    v1::SynthesizeDataOptions& synthesize = *options.mutable_synthesize_data();
    synthesize.set_seed(std::max<uint64_t>(1, request_.options().seed()));
    synthesize.set_samples(kSyntheticSamples);
    synthesize.set_chunk_samples(kChunkSamples);
    return Start("synthesize_" + suffix, -1, options, {graph}, stages);
  }
  v1::ConvertDataOptions& convert = *options.mutable_convert_data();
  *convert.mutable_transforms() = request_.transforms();
  convert.set_limit(limit);
  convert.set_chunk_samples(kChunkSamples);
  convert.set_raw(raw);
  std::vector<v1::BlobRef> inputs;
  for (const v1::Digest& file : files.files()) {
    inputs.push_back(As("data", file));
  }
  inputs.push_back(graph);
  return Start("convert_" + suffix, -1, options, std::move(inputs), stages);
}

absl::Status CompileJob::Quantize() {
  const bool synthetic = request_.calibration().files_size() == 0;
  model_.calibration = synthetic ? "SYNTHETIC" : "DATA";
  EK_ASSIGN_OR_RETURN(
      const v1::StageResult converted,
      StartData("calibration", request_.calibration(), model_.imported,
                /*raw=*/false, /*limit=*/0, shared_)
          ->Wait());
  EK_ASSIGN_OR_RETURN(const Data samples, DataOf(converted));

  v1::StageOptions calibrate;
  v1::CalibrateOptions& method = *calibrate.mutable_calibrate();
  method = request_.options().calibrate();
  if (method.method() == v1::CalibrateOptions::METHOD_UNSPECIFIED) {
    // Measured on published networks: never worse by more than chance, and up
    // to 4 dB less noise at the outputs than the plain extremes.
    method.set_method(v1::CalibrateOptions::PERCENTILE);
  }
  if (method.method() == v1::CalibrateOptions::PERCENTILE &&
      method.percentile_ppm() == 0) {
    method.set_percentile_ppm(kDefaultPercentilePpm);
  }
  std::vector<v1::BlobRef> inputs = {model_.imported};
  for (const v1::Digest& chunk : samples.chunks) {
    inputs.push_back(As("chunk", chunk));
  }
  EK_ASSIGN_OR_RETURN(const v1::StageResult calibrated,
                      Do("calibrate", -1, calibrate, inputs, shared_));
  EK_ASSIGN_OR_RETURN(const v1::BlobRef statistics,
                      Only(calibrated, "statistics"));

  v1::StageOptions quantize;
  quantize.mutable_quantize();
  EK_ASSIGN_OR_RETURN(
      const v1::StageResult quantized,
      Do("quantize", -1, quantize, {model_.imported, statistics}, shared_));
  EK_ASSIGN_OR_RETURN(model_.deployed, Only(quantized, "graph"));
  return absl::OkStatus();
}

// With several targets the description is that of the first.
absl::Status CompileJob::DescribeAll(std::vector<TargetRun>& runs,
                                     JobResult& result) {
  v1::StageOptions options;
  options.mutable_describe()->set_format(model_.import.format());
  for (size_t i = 0; i < runs.size(); ++i) {
    std::vector<v1::BlobRef> inputs = {model_.imported};
    int target = -1;
    if (runs[i].resolve != nullptr) {
      const absl::StatusOr<v1::StageResult> resolved = runs[i].resolve->Wait();
      if (!resolved.ok()) continue;  // That target's own failure.
      EK_ASSIGN_OR_RETURN(v1::BlobRef capabilities,
                          Only(*resolved, "capabilities"));
      inputs.push_back(std::move(capabilities));
      target = static_cast<int>(i);
    }
    EK_ASSIGN_OR_RETURN(
        const v1::StageResult described,
        Do("describe", target, options, inputs, runs[i].stages));
    if (result.description.layers_size() > 0) continue;
    result.description = described.summary().description();
    result.description.set_name(request_.model_name());
    for (const std::string& warning : model_.import_warnings) {
      result.description.add_warnings(warning);
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<Reference> CompileJob::RunReference() {
  Reference reference;
  // A float model is measured as it came, on data converted for it.
  std::shared_ptr<PendingStage> pending = model_.data;
  if (!model_.import.quantized()) {
    pending =
        StartData("reference", request_.data(), model_.imported,
                  /*raw=*/false, request_.options().limit(), reference.stages);
  }
  EK_ASSIGN_OR_RETURN(const v1::StageResult converted, pending->Wait());
  EK_ASSIGN_OR_RETURN(const Data data, DataOf(converted));
  EK_RETURN_IF_ERROR(ForEachChunk(
      data.chunks,
      [&](size_t i, const v1::Digest& chunk) {
        v1::StageOptions options;
        options.mutable_interpret();
        std::vector<v1::BlobRef> inputs = {model_.imported, As("chunk", chunk)};
        inputs.insert(inputs.end(), data.labels.begin(), data.labels.end());
        return Start(absl::StrCat("interpret[", i, "]"), -1, options, inputs,
                     reference.stages);
      },
      [&](const v1::StageResult& result) {
        Add(result.summary().samples(), reference.totals);
        return absl::OkStatus();
      }));
  return reference;
}

absl::Status CompileJob::PackOutputs(int index,
                                     const std::vector<v1::Digest>& outputs,
                                     TargetRun& run) {
  v1::StageOptions options;
  *options.mutable_pack_outputs()->mutable_transforms() = request_.transforms();
  std::vector<v1::BlobRef> inputs;
  for (const v1::Digest& chunk : outputs) inputs.push_back(As("chunk", chunk));
  EK_ASSIGN_OR_RETURN(const v1::StageResult packed,
                      Do("pack_outputs", index, options, inputs, run.stages));
  EK_ASSIGN_OR_RETURN(const v1::BlobRef npz, Only(packed, "npz"));
  v1::Artifact& artifact = run.artifacts.emplace_back();
  artifact.set_path("outputs.npz");
  *artifact.mutable_digest() = npz.digest();
  artifact.set_target(index);
  return absl::OkStatus();
}

// RUN without a target: outputs of the interpreter, on the graph as it came.
absl::Status CompileJob::RunReferenceOnly(TargetRun& run) {
  EK_ASSIGN_OR_RETURN(const v1::StageResult converted, model_.data->Wait());
  EK_ASSIGN_OR_RETURN(const Data data, DataOf(converted));
  std::vector<v1::Digest> outputs;
  v1::JobEvent::Samples progress;
  progress.set_total(data.samples);
  EK_RETURN_IF_ERROR(ForEachChunk(
      data.chunks,
      [&](size_t i, const v1::Digest& chunk) {
        v1::StageOptions options;
        options.mutable_interpret();
        return Start(absl::StrCat("interpret[", i, "]"), -1, options,
                     {model_.imported, As("chunk", chunk)}, run.stages);
      },
      [&](const v1::StageResult& result) -> absl::Status {
        EK_ASSIGN_OR_RETURN(const v1::BlobRef chunk, Only(result, "chunk"));
        outputs.push_back(chunk.digest());
        progress.set_done(progress.done() +
                          result.summary().samples().samples());
        context_.OnSamples(progress);
        return absl::OkStatus();
      }));
  return PackOutputs(-1, outputs, run);
}

absl::Status CompileJob::Simulate(int index,
                                  const std::vector<v1::BlobRef>& program,
                                  TargetRun& run) {
  EK_ASSIGN_OR_RETURN(const v1::StageResult converted, model_.data->Wait());
  EK_ASSIGN_OR_RETURN(const Data data, DataOf(converted));
  Totals totals;
  std::vector<v1::Digest> outputs;
  EK_RETURN_IF_ERROR(ForEachChunk(
      data.chunks,
      [&](size_t i, const v1::Digest& chunk) {
        v1::StageOptions options;
        options.mutable_simulate()->set_compare_layers(true);
        std::vector<v1::BlobRef> inputs = program;
        inputs.push_back(model_.deployed);
        inputs.push_back(As("chunk", chunk));
        inputs.insert(inputs.end(), data.labels.begin(), data.labels.end());
        return Start(absl::StrCat("simulate[", i, "]"), index, options, inputs,
                     run.stages);
      },
      [&](const v1::StageResult& result) -> absl::Status {
        Add(result.summary().samples(), totals);
        EK_ASSIGN_OR_RETURN(const v1::BlobRef chunk, Only(result, "chunk"));
        outputs.push_back(chunk.digest());
        v1::JobEvent::Samples progress;
        progress.set_done(totals.samples());
        progress.set_total(data.samples);
        progress.set_labelled(totals.labelled());
        progress.set_correct(totals.correct());
        progress.set_mismatches(totals.mismatches());
        context_.OnSamples(progress);
        return absl::OkStatus();
      }));
  AddBitExact(totals, run.report);
  if (Wants(request_, v1::RUN)) {
    EK_RETURN_IF_ERROR(PackOutputs(index, outputs, run));
  }
  if (!reference_.valid()) return absl::OkStatus();
  const absl::StatusOr<Reference>& reference = reference_.get();
  EK_RETURN_IF_ERROR(reference.status());
  AddAccuracy(totals, reference->totals,
              model_.import.quantized() ? v1::Report::Accuracy::SOURCE_INT8
                                        : v1::Report::Accuracy::FLOAT,
              run.report);
  return absl::OkStatus();
}

absl::Status CompileJob::RunTarget(int index, TargetRun& run) {
  EK_ASSIGN_OR_RETURN(const v1::StageResult resolved, run.resolve->Wait());
  EK_ASSIGN_OR_RETURN(const v1::BlobRef capabilities,
                      Only(resolved, "capabilities"));
  EK_ASSIGN_OR_RETURN(const v1::BlobRef machine, Only(resolved, "machine"));

  v1::StageOptions partition;
  partition.mutable_partition();
  EK_ASSIGN_OR_RETURN(const v1::StageResult partitioned,
                      Do("partition", index, partition,
                         {model_.deployed, capabilities}, run.stages));
  EK_ASSIGN_OR_RETURN(const v1::BlobRef placed, Only(partitioned, "partition"));

  v1::StageOptions tile;
  *tile.mutable_tile() = request_.options().tile();
  tile.mutable_tile()->set_mode(v1::TileOptions::DEFAULT);
  EK_ASSIGN_OR_RETURN(const v1::StageResult tiled,
                      Do("tile", index, tile, {placed, machine}, run.stages));
  EK_ASSIGN_OR_RETURN(const v1::BlobRef tiling, Only(tiled, "tiling"));

  v1::StageOptions emit;
  emit.mutable_emit();
  EK_ASSIGN_OR_RETURN(
      const v1::StageResult emitted,
      Do("emit", index, emit, {placed, tiling, machine}, run.stages));
  EK_ASSIGN_OR_RETURN(const v1::BlobRef program, Only(emitted, "program"));
  EK_ASSIGN_OR_RETURN(const v1::BlobRef constants, Only(emitted, "constants"));
  *run.report.mutable_program() = program.digest();
  const std::vector<v1::BlobRef> binary = {program, constants, machine};

  std::shared_ptr<PendingStage> bundle;
  if (Wants(request_, v1::COMPILE)) {
    v1::StageOptions options;
    options.mutable_bundle()->set_target_name(request_.targets(index).name());
    options.mutable_bundle()->set_model_name(request_.model_name());
    // The manifest names what the bundle was made from.
    std::vector<v1::BlobRef> origins = binary;
    origins.push_back(As("model", request_.model()));
    origins.push_back(As("target", request_.targets(index).digest()));
    bundle = Start("bundle", index, options, std::move(origins), run.stages);
  }
  v1::StageOptions count;
  // Without values, constants are not even brought to the worker.
  const bool timing_only = request_.options().timing_only();
  count.mutable_count_cycles()->set_timing_only(timing_only);
  const std::shared_ptr<PendingStage> counting =
      Start("count_cycles", index, count,
            timing_only ? std::vector<v1::BlobRef>{program, machine} : binary,
            run.stages);
  if (WantsSamples(request_)) {
    EK_RETURN_IF_ERROR(Simulate(index, binary, run));
  }
  EK_ASSIGN_OR_RETURN(const v1::StageResult counted, counting->Wait());
  AddProgram(resolved.summary().target(), emitted.summary().emit(),
             counted.summary().sim_report(), run.report);
  if (bundle == nullptr) return absl::OkStatus();
  EK_ASSIGN_OR_RETURN(const v1::StageResult bundled, bundle->Wait());
  for (const v1::BlobRef& file : bundled.outputs()) {
    v1::Artifact& artifact = run.artifacts.emplace_back();
    artifact.set_path(file.role());
    *artifact.mutable_digest() = file.digest();
    artifact.set_target(index);
  }
  return absl::OkStatus();
}

// Everything before the targets part ways.
absl::Status CompileJob::RunShared(std::vector<TargetRun>& runs,
                                   JobResult& result) {
  EK_RETURN_IF_ERROR(PrepareModel());
  if (Wants(request_, v1::INSPECT)) {
    EK_RETURN_IF_ERROR(DescribeAll(runs, result));
  }
  model_.deployed = model_.imported;
  if (WantsProgram(request_) && !model_.import.quantized()) {
    EK_RETURN_IF_ERROR(Quantize());
  }
  if (!WantsSamples(request_)) return absl::OkStatus();
  int64_t limit = request_.options().limit();
  // A profile compares on a few inputs, whatever the data set holds.
  if (limit == 0 && !Wants(request_, v1::VALIDATE) &&
      !Wants(request_, v1::RUN)) {
    limit = kSyntheticSamples;
  }
  model_.data = StartData("data", request_.data(), model_.deployed,
                          /*raw=*/Wants(request_, v1::RUN), limit, shared_);
  // Ranges learned from random inputs say nothing about accuracy.
  if (Wants(request_, v1::VALIDATE) && model_.calibration != "SYNTHETIC") {
    reference_ = std::async(std::launch::async, [this] {
                   return RunReference();
                 }).share();
  }
  return absl::OkStatus();
}

v1::Report CompileJob::NewReport(int index) const {
  v1::Report report;
  report.set_job_id(job_id_);
  report.set_model_name(request_.model_name());
  *report.mutable_model() = request_.model();
  if (index < request_.targets_size()) {
    report.set_target_name(request_.targets(index).name());
    *report.mutable_target() = request_.targets(index).digest();
  }
  report.set_version(std::string(Version()));
  return report;
}

// With what they warn of: each says it once, in the order of the stages.
void AddStages(const Stages& stages, v1::Report& report) {
  for (const std::shared_ptr<PendingStage>& stage : stages) {
    v1::Report::Stage record = stage->Record();
    if (record.name().empty()) continue;
    *report.add_stages() = std::move(record);
    // It is over, so that this does not block.
    const absl::StatusOr<v1::StageResult> result = stage->Wait();
    if (result.ok()) AddWarnings(*result, report);
  }
}

JobResult CompileJob::Finish(std::vector<TargetRun> runs, JobResult result) {
  for (TargetRun& run : runs) {
    if (!run.status.ok()) {
      if (result.status.ok()) result.status = run.status;
      *run.report.mutable_error() = ErrorToProto(run.status);
    }
    run.report.set_calibration(model_.calibration);
    AddStages(shared_, run.report);
    if (reference_.valid() && reference_.get().ok()) {
      AddStages(reference_.get()->stages, run.report);
    }
    AddStages(run.stages, run.report);
    std::move(run.artifacts.begin(), run.artifacts.end(),
              std::back_inserter(result.artifacts));
    result.reports.push_back(std::move(run.report));
  }
  // Inspection alone measures nothing.
  if (!WantsProgram(request_) && !Wants(request_, v1::RUN)) {
    result.reports.clear();
  }
  return result;
}

JobResult CompileJob::Run() {
  JobResult result;
  std::vector<TargetRun> runs(std::max(1, request_.targets_size()));
  for (size_t i = 0; i < runs.size(); ++i) {
    runs[i].report = NewReport(static_cast<int>(i));
    if (request_.targets_size() == 0) break;
    v1::StageOptions options;
    options.mutable_resolve_target();
    runs[i].resolve =
        Start("resolve_target", static_cast<int>(i), options,
              {As("target", request_.targets(i).digest())}, runs[i].stages);
  }
  const absl::Status shared = RunShared(runs, result);
  const auto run_one = [&](size_t i) {
    if (!shared.ok()) {
      runs[i].status = shared;
    } else if (WantsProgram(request_)) {
      runs[i].status = RunTarget(static_cast<int>(i), runs[i]);
    } else if (Wants(request_, v1::RUN)) {
      runs[i].status = RunReferenceOnly(runs[i]);
    } else if (runs[i].resolve != nullptr) {
      runs[i].status = runs[i].resolve->Wait().status();
    }
  };
  std::vector<std::thread> threads;
  for (size_t i = 1; i < runs.size(); ++i) threads.emplace_back(run_one, i);
  run_one(0);
  for (std::thread& thread : threads) thread.join();
  return Finish(std::move(runs), std::move(result));
}

}  // namespace

JobResult RunCompileJob(const std::string& job_id,
                        const v1::CreateJobRequest& request,
                        JobContext& context) {
  return CompileJob(job_id, request, context).Run();
}

}  // namespace edgekiln::server
