#include "server/target_stages.h"

#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "server/report_builder.h"
#include "server/stage_results.h"
#include "server/validate_request.h"

namespace edgekiln::server {
namespace {

using Totals = v1::StageSummary::Samples;

class TargetStages {
 public:
  TargetStages(const v1::CreateJobRequest& request, const ModelStages& model,
               JobContext& context, TargetRun& run)
      : request_(request), model_(model), context_(context), run_(run) {}

  absl::Status Run();
  absl::Status Interpret();

 private:
  // What the compiler made of it.
  struct Binary {
    v1::BlobRef program = {};
    v1::BlobRef constants = {};
    v1::BlobRef machine = {};
    v1::StageSummary::Emit summary = {};
  };

  absl::StatusOr<Binary> Compile(const v1::StageResult& resolved);
  std::shared_ptr<PendingStage> StartBundle(const Binary& binary);
  std::shared_ptr<PendingStage> StartCounting(const Binary& binary);
  absl::Status Simulate(const Binary& binary);
  absl::Status PackOutputs(const std::vector<v1::Digest>& outputs);
  void AddArtifact(const std::string& path, const v1::Digest& digest);

  const v1::CreateJobRequest& request_;
  const ModelStages& model_;
  JobContext& context_;
  TargetRun& run_;
};

void TargetStages::AddArtifact(const std::string& path,
                               const v1::Digest& digest) {
  v1::Artifact& artifact = run_.artifacts.emplace_back();
  artifact.set_path(path);
  *artifact.mutable_digest() = digest;
  artifact.set_target(run_.stages.target());
}

absl::StatusOr<TargetStages::Binary> TargetStages::Compile(
    const v1::StageResult& resolved) {
  EK_ASSIGN_OR_RETURN(const v1::BlobRef capabilities,
                      Only(resolved, "capabilities"));
  EK_ASSIGN_OR_RETURN(const v1::BlobRef machine, Only(resolved, "machine"));

  v1::StageOptions partition;
  partition.mutable_partition();
  EK_ASSIGN_OR_RETURN(const v1::StageResult partitioned,
                      run_.stages.Do("partition", partition,
                                     {model_.deployed(), capabilities}));
  EK_ASSIGN_OR_RETURN(const v1::BlobRef placed, Only(partitioned, "partition"));

  v1::StageOptions tile;
  *tile.mutable_tile() = request_.options().tile();
  tile.mutable_tile()->set_mode(v1::TileOptions::DEFAULT);
  EK_ASSIGN_OR_RETURN(const v1::StageResult tiled,
                      run_.stages.Do("tile", tile, {placed, machine}));
  EK_ASSIGN_OR_RETURN(const v1::BlobRef tiling, Only(tiled, "tiling"));

  v1::StageOptions emit;
  emit.mutable_emit();
  EK_ASSIGN_OR_RETURN(const v1::StageResult emitted,
                      run_.stages.Do("emit", emit, {placed, tiling, machine}));
  Binary binary{.machine = machine, .summary = emitted.summary().emit()};
  EK_ASSIGN_OR_RETURN(binary.program, Only(emitted, "program"));
  EK_ASSIGN_OR_RETURN(binary.constants, Only(emitted, "constants"));
  return binary;
}

std::shared_ptr<PendingStage> TargetStages::StartBundle(const Binary& binary) {
  const v1::TargetRef& target = request_.targets(run_.stages.target());
  v1::StageOptions options;
  options.mutable_bundle()->set_target_name(target.name());
  options.mutable_bundle()->set_model_name(request_.model_name());
  // The manifest names what the bundle was made from.
  return run_.stages.Start(
      "bundle", options,
      {binary.program, binary.constants, binary.machine, model_.deployed(),
       As("model", request_.model()), As("target", target.digest())});
}

std::shared_ptr<PendingStage> TargetStages::StartCounting(
    const Binary& binary) {
  v1::StageOptions options;
  const bool timing_only = request_.options().timing_only();
  options.mutable_count_cycles()->set_timing_only(timing_only);
  std::vector<v1::BlobRef> inputs = {binary.program};
  // Without values, constants are not even brought to the worker.
  if (!timing_only) inputs.push_back(binary.constants);
  inputs.push_back(binary.machine);
  return run_.stages.Start("count_cycles", options, std::move(inputs));
}

absl::Status TargetStages::PackOutputs(const std::vector<v1::Digest>& outputs) {
  v1::StageOptions options;
  *options.mutable_pack_outputs()->mutable_transforms() = request_.transforms();
  // The graph tells which integers stand for the model's own types.
  std::vector<v1::BlobRef> inputs = {model_.deployed()};
  for (const v1::Digest& chunk : outputs) inputs.push_back(As("chunk", chunk));
  EK_ASSIGN_OR_RETURN(const v1::StageResult packed,
                      run_.stages.Do("pack_outputs", options, inputs));
  EK_ASSIGN_OR_RETURN(const v1::BlobRef npz, Only(packed, "npz"));
  AddArtifact("outputs.npz", npz.digest());
  return absl::OkStatus();
}

absl::Status TargetStages::Interpret() {
  EK_ASSIGN_OR_RETURN(const v1::StageResult converted, model_.WaitForData());
  EK_ASSIGN_OR_RETURN(const Data data, DataOf(converted));
  std::vector<v1::Digest> outputs;
  v1::JobEvent::Samples progress;
  progress.set_total(data.samples);
  EK_RETURN_IF_ERROR(ForEachChunk(
      data.chunks,
      [&](size_t i, const v1::Digest& chunk) {
        v1::StageOptions options;
        options.mutable_interpret();
        return run_.stages.Start(absl::StrCat("interpret[", i, "]"), options,
                                 {model_.imported(), As("chunk", chunk)});
      },
      [&](const v1::StageResult& result) -> absl::Status {
        EK_ASSIGN_OR_RETURN(const v1::BlobRef chunk, Only(result, "chunk"));
        outputs.push_back(chunk.digest());
        progress.set_done(progress.done() +
                          result.summary().samples().samples());
        context_.OnSamples(progress);
        return absl::OkStatus();
      }));
  return PackOutputs(outputs);
}

absl::Status TargetStages::Simulate(const Binary& binary) {
  EK_ASSIGN_OR_RETURN(const v1::StageResult converted, model_.WaitForData());
  EK_ASSIGN_OR_RETURN(const Data data, DataOf(converted));
  Totals totals;
  std::vector<v1::Digest> outputs;
  EK_RETURN_IF_ERROR(ForEachChunk(
      data.chunks,
      [&](size_t i, const v1::Digest& chunk) {
        v1::StageOptions options;
        options.mutable_simulate()->set_compare_layers(true);
        std::vector<v1::BlobRef> inputs = {binary.program, binary.constants,
                                           binary.machine, model_.deployed(),
                                           As("chunk", chunk)};
        inputs.insert(inputs.end(), data.labels.begin(), data.labels.end());
        return run_.stages.Start(absl::StrCat("simulate[", i, "]"), options,
                                 inputs);
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
  AddBitExact(totals, run_.report);
  if (Wants(request_, v1::RUN)) {
    EK_RETURN_IF_ERROR(PackOutputs(outputs));
  }
  const absl::StatusOr<Reference>* reference = model_.reference();
  if (reference == nullptr) return absl::OkStatus();
  EK_RETURN_IF_ERROR(reference->status());
  AddAccuracy(totals, (*reference)->totals,
              model_.import().quantized() ? v1::Report::Accuracy::SOURCE_INT8
                                          : v1::Report::Accuracy::FLOAT,
              run_.report);
  return absl::OkStatus();
}

absl::Status TargetStages::Run() {
  EK_ASSIGN_OR_RETURN(const v1::StageResult resolved, run_.resolve->Wait());
  EK_ASSIGN_OR_RETURN(const Binary binary, Compile(resolved));
  *run_.report.mutable_program() = binary.program.digest();

  std::shared_ptr<PendingStage> bundle;
  if (Wants(request_, v1::COMPILE)) bundle = StartBundle(binary);
  const std::shared_ptr<PendingStage> counting = StartCounting(binary);
  if (WantsSamples(request_)) EK_RETURN_IF_ERROR(Simulate(binary));
  EK_ASSIGN_OR_RETURN(const v1::StageResult counted, counting->Wait());
  AddProgram(resolved.summary().target(), binary.summary,
             counted.summary().sim_report(), IoFormOf(request_), run_.report);
  if (bundle == nullptr) return absl::OkStatus();
  EK_ASSIGN_OR_RETURN(const v1::StageResult bundled, bundle->Wait());
  for (const v1::BlobRef& file : bundled.outputs()) {
    AddArtifact(file.role(), file.digest());
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status RunOnTarget(const v1::CreateJobRequest& request,
                         const ModelStages& model, JobContext& context,
                         TargetRun& run) {
  return TargetStages(request, model, context, run).Run();
}

absl::Status RunOnReference(const v1::CreateJobRequest& request,
                            const ModelStages& model, JobContext& context,
                            TargetRun& run) {
  return TargetStages(request, model, context, run).Interpret();
}

}  // namespace edgekiln::server
