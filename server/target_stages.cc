#include "server/target_stages.h"

#include <optional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "server/accuracy.h"
#include "server/accuracy_stages.h"
#include "server/chosen_recipe.h"
#include "server/firmware_stages.h"
#include "server/report_builder.h"
#include "server/stage_results.h"
#include "server/validate_request.h"

namespace edgekiln::server {
namespace {

class TargetStages {
 public:
  TargetStages(const v1::CreateJobRequest& request, const ModelStages& model,
               JobContext& context, TaskScope& beside, TargetRun& run)
      : request_(request),
        model_(model),
        context_(context),
        beside_(beside),
        run_(run) {}

  Task<absl::Status> Run();
  Task<absl::Status> Interpret();

 private:
  // What the compiler made of it.
  struct Binary {
    v1::BlobRef program = {};
    // Of firmware, its ELF file: absent without a compiler.
    std::optional<v1::BlobRef> constants = {};
    v1::BlobRef machine = {};
    std::optional<Firmware> firmware = {};
    bool is_simulated = true;
    std::shared_ptr<PendingStage> emitting = {};  // Is over.
  };

  Task<absl::StatusOr<v1::BlobRef>> Place(const v1::PartitionRecipe& recipe,
                                          const v1::BlobRef& capabilities,
                                          const v1::BlobRef& machine);
  Task<absl::StatusOr<Binary>> Compile(const v1::StageResult& resolved);
  std::shared_ptr<PendingStage> StartBundle(const Binary& binary);
  Task<absl::StatusOr<std::shared_ptr<PendingStage>>> StartCounting(
      const v1::StageSummary::Target& target, const Binary& binary);
  // Whether what the chips are compared with is also what accuracy is.
  bool MeasuresDeployed() const {
    return Wants(request_, v1::VALIDATE) && model_.import().quantized() &&
           !run_.requantized;
  }
  Task<absl::Status> SimulateChunks(const Binary& binary, const Data& data);
  Task<absl::Status> InterpretChunks(const Data& data);
  Task<absl::Status> Simulate(const Binary& binary);
  Task<absl::Status> PackOutputs(const std::vector<v1::Digest>& outputs);
  void AddArtifact(const std::string& path, const v1::Digest& digest);
  void WarnOfWhatIsNotThere(const v1::StageSummary::Target& target,
                            const Binary& binary);

  const v1::CreateJobRequest& request_;
  const ModelStages& model_;
  JobContext& context_;
  TaskScope& beside_;
  TargetRun& run_;
  v1::Metric metric_ = v1::METRIC_UNSPECIFIED;  // Of a validation.
  Computed simulated_;
  // Of the same graph, if MeasuresDeployed(), or of the model as it came.
  Computed interpreted_;
};

void TargetStages::AddArtifact(const std::string& path,
                               const v1::Digest& digest) {
  v1::Artifact& artifact = run_.artifacts.emplace_back();
  artifact.set_path(path);
  *artifact.mutable_digest() = digest;
  artifact.set_target(run_.stages.target());
}

// The partition; placed by cycles where there is a choice.
Task<absl::StatusOr<v1::BlobRef>> TargetStages::Place(
    const v1::PartitionRecipe& recipe, const v1::BlobRef& capabilities,
    const v1::BlobRef& machine) {
  const v1::Offload offload = OffloadOf(request_);
  const bool decides = recipe.ByteSizeLong() > 0;
  v1::StageOptions partition;
  partition.mutable_partition();
  if (offload == v1::NONE) {
    partition.mutable_partition()->set_offload(v1::NONE);
  } else if (decides) {
    *partition.mutable_partition()->mutable_recipe() = recipe;
  }
  const auto partitioning = run_.stages.Start(
      "partition", partition, {run_.deployed->graph(), capabilities});
  EK_CO_ASSIGN_OR_RETURN(const v1::StageResult& partitioned,
                         co_await ResultOf(partitioning));
  EK_CO_ASSIGN_OR_RETURN(const v1::BlobRef by_capabilities,
                         Only(partitioned, "partition"));
  if (offload != v1::PAYING &&
      !partitioned.summary().partition().engines_to_choose()) {
    co_return by_capabilities;
  }
  v1::StageOptions place;
  place.mutable_place();
  if (decides) *place.mutable_place()->mutable_recipe() = recipe;
  if (offload == v1::PAYING) place.mutable_place()->set_offload(v1::PAYING);
  const auto placing = run_.stages.Start(
      "place", place, {by_capabilities, capabilities, machine});
  EK_CO_ASSIGN_OR_RETURN(const v1::StageResult& placed,
                         co_await ResultOf(placing));
  co_return Only(placed, "partition");
}

Task<absl::StatusOr<TargetStages::Binary>> TargetStages::Compile(
    const v1::StageResult& resolved) {
  EK_CO_ASSIGN_OR_RETURN(const v1::ResolvedRecipe recipe,
                         ChosenRecipe(resolved.summary().target(), request_,
                                      run_.stages.target()));
  EK_CO_ASSIGN_OR_RETURN(const v1::BlobRef capabilities,
                         Only(resolved, "capabilities"));
  EK_CO_ASSIGN_OR_RETURN(const v1::BlobRef machine, Only(resolved, "machine"));
  if (HasFirmware(resolved.summary().target())) {
    EK_CO_ASSIGN_OR_RETURN(
        const Firmware firmware,
        co_await MakeFirmware(request_, resolved.summary().target(), machine,
                              recipe.c(), context_, run_));
    co_return Binary{.program = firmware.program,
                     .constants = firmware.elf,
                     .machine = machine,
                     .firmware = firmware,
                     .is_simulated = firmware.is_simulated,
                     .emitting = firmware.emitting};
  }

  EK_CO_ASSIGN_OR_RETURN(
      const v1::BlobRef placed,
      co_await Place(recipe.partition(), capabilities, machine));

  v1::StageOptions tile;
  *tile.mutable_tile()->mutable_recipe() = recipe.tile();
  const auto tiling_stage = run_.stages.Start("tile", tile, {placed, machine});
  EK_CO_ASSIGN_OR_RETURN(const v1::StageResult& tiled,
                         co_await ResultOf(tiling_stage));
  EK_CO_ASSIGN_OR_RETURN(const v1::BlobRef tiling, Only(tiled, "tiling"));

  v1::StageOptions emit;
  emit.mutable_emit();
  const auto emitting =
      run_.stages.Start("emit", emit, {placed, tiling, machine});
  EK_CO_ASSIGN_OR_RETURN(const v1::StageResult& emitted,
                         co_await ResultOf(emitting));
  Binary binary = {.machine = machine, .emitting = emitting};
  EK_CO_ASSIGN_OR_RETURN(binary.program, Only(emitted, "program"));
  EK_CO_ASSIGN_OR_RETURN(binary.constants, Only(emitted, "constants"));
  co_return binary;
}

std::shared_ptr<PendingStage> TargetStages::StartBundle(const Binary& binary) {
  const v1::TargetRef& target = request_.targets(run_.stages.target());
  v1::StageOptions options;
  options.mutable_bundle()->set_target_name(target.name());
  options.mutable_bundle()->set_recipe_name(run_.report.recipe());
  *options.mutable_bundle()->mutable_network() = run_.deployed->origin();
  // The manifest names what the bundle was made from.
  std::vector<v1::BlobRef> inputs = {binary.program};
  if (binary.constants) inputs.push_back(*binary.constants);
  inputs.push_back(binary.machine);
  inputs.push_back(run_.deployed->graph());
  inputs.push_back(As("target", target.digest()));
  if (binary.firmware) inputs.push_back(binary.firmware->c_sources);
  return run_.stages.Start("bundle", options, std::move(inputs));
}

Task<absl::StatusOr<std::shared_ptr<PendingStage>>> TargetStages::StartCounting(
    const v1::StageSummary::Target& target, const Binary& binary) {
  v1::StageOptions options;
  // Where samples are simulated anyway, their values need not be computed for
  // the cycles once more.
  const bool timing_only =
      request_.options().timing_only() || WantsSamples(request_);
  options.mutable_count_cycles()->set_timing_only(timing_only);
  options.mutable_count_cycles()->set_timeline(request_.options().timeline());
  v1::BlobRef program = binary.program;
  std::optional<v1::BlobRef> constants = binary.constants;
  const bool hot_spots = request_.options().hot_spots() && binary.firmware;
  if (hot_spots) {
    // Samples are simulated without line tables: their results are those of
    // jobs that ask for no hot spots.
    EK_CO_ASSIGN_OR_RETURN(
        const Firmware with_lines,
        co_await WithLineTables(request_, target, binary.machine,
                                *binary.firmware, context_, run_));
    program = with_lines.program;
    constants = with_lines.elf;
    options.mutable_count_cycles()->set_hot_spots(true);
  }
  std::vector<v1::BlobRef> inputs = {program};
  // Without values, constants are not even brought to the worker.
  if (!timing_only || binary.firmware) inputs.push_back(*constants);
  inputs.push_back(binary.machine);
  if (hot_spots) inputs.push_back(binary.firmware->c_sources);
  // The cycles of firmware depend on data.
  if (binary.firmware && WantsSamples(request_)) {
    EK_CO_ASSIGN_OR_RETURN(const v1::StageResult& converted,
                           co_await ResultOf(run_.deployed->data()));
    EK_CO_ASSIGN_OR_RETURN(const Data data, DataOf(converted));
    inputs.push_back(run_.deployed->graph());
    inputs.push_back(As("chunk", data.chunks[0]));
  }
  co_return run_.stages.Start("count_cycles", options, std::move(inputs));
}

Task<absl::Status> TargetStages::PackOutputs(
    const std::vector<v1::Digest>& outputs) {
  v1::StageOptions options;
  *options.mutable_pack_outputs()->mutable_transforms() = request_.transforms();
  // The graph tells which integers stand for the model's own types.
  std::vector<v1::BlobRef> inputs = {run_.deployed->graph()};
  for (const v1::Digest& chunk : outputs) inputs.push_back(As("chunk", chunk));
  const auto packing = run_.stages.Start("pack_outputs", options, inputs);
  EK_CO_ASSIGN_OR_RETURN(const v1::StageResult& packed,
                         co_await ResultOf(packing));
  EK_CO_ASSIGN_OR_RETURN(const v1::BlobRef npz, Only(packed, "npz"));
  AddArtifact("outputs.npz", npz.digest());
  co_return absl::OkStatus();
}

Task<absl::Status> TargetStages::Interpret() {
  EK_CO_ASSIGN_OR_RETURN(const v1::StageResult& converted,
                         co_await ResultOf(run_.deployed->data()));
  EK_CO_ASSIGN_OR_RETURN(const Data data, DataOf(converted));
  const auto start = [&](size_t i, const v1::Digest& chunk,
                         const std::vector<v1::BlobRef>& states) {
    v1::StageOptions options;
    options.mutable_interpret();
    std::vector<v1::BlobRef> inputs = {model_.imported(), As("chunk", chunk)};
    inputs.insert(inputs.end(), states.begin(), states.end());
    return run_.stages.Start(absl::StrCat("interpret[", i, "]"), options,
                             inputs);
  };
  const auto collect = [&](const v1::StageResult& result) -> absl::Status {
    EK_RETURN_IF_ERROR(AddChunk(result, interpreted_));
    context_.OnSamples(ProgressOf(interpreted_.totals, data.samples,
                                  run_.stages.target(), metric_));
    return absl::OkStatus();
  };
  EK_CO_RETURN_IF_ERROR(co_await ForEachChunk(data, start, collect));
  co_return co_await PackOutputs(interpreted_.outputs.chunks);
}

Task<absl::Status> TargetStages::SimulateChunks(const Binary& binary,
                                                const Data& data) {
  // `digests` is null if the stage is to compute the reference itself.
  const auto simulate = [&](size_t i, const v1::Digest& chunk,
                            const std::vector<v1::BlobRef>& states,
                            const v1::BlobRef* digests) {
    v1::StageOptions options;
    options.mutable_simulate()->set_compare_layers(true);
    std::vector<v1::BlobRef> inputs = {binary.program, *binary.constants,
                                       binary.machine, run_.deployed->graph(),
                                       As("chunk", chunk)};
    inputs.insert(inputs.end(), data.labels.begin(), data.labels.end());
    if (digests != nullptr) inputs.push_back(*digests);
    inputs.insert(inputs.end(), states.begin(), states.end());
    return run_.stages.Start(absl::StrCat("simulate[", i, "]"), options,
                             inputs);
  };
  const auto collect = [&](const v1::StageResult& result) -> absl::Status {
    EK_RETURN_IF_ERROR(AddChunk(result, simulated_));
    context_.OnSamples(ProgressOf(simulated_.totals, data.samples,
                                  run_.stages.target(), metric_));
    return absl::OkStatus();
  };
  // For one chip alone, a stage that computes both has nothing to wait for.
  if (request_.targets_size() == 1 && !MeasuresDeployed()) {
    const auto start = [&](size_t i, const v1::Digest& chunk,
                           const std::vector<v1::BlobRef>& states) {
      return simulate(i, chunk, states, nullptr);
    };
    co_return co_await ForEachChunk(data, start, collect);
  }
  // The same stage for every target.
  const auto interpret = [&](size_t i, const v1::Digest& chunk,
                             const std::vector<v1::BlobRef>& states) {
    v1::StageOptions options;
    options.mutable_interpret()->set_digest_tensors(true);
    std::vector<v1::BlobRef> inputs = {run_.deployed->graph(),
                                       As("chunk", chunk)};
    inputs.insert(inputs.end(), data.labels.begin(), data.labels.end());
    inputs.insert(inputs.end(), states.begin(), states.end());
    return run_.stages.Start(absl::StrCat("interpret[", i, "]"), options,
                             inputs);
  };
  const auto start = [&](size_t i, const v1::Digest& chunk,
                         const std::vector<v1::BlobRef>& states,
                         const v1::StageResult& interpreted)
      -> absl::StatusOr<std::shared_ptr<PendingStage>> {
    EK_RETURN_IF_ERROR(AddChunk(interpreted, interpreted_));
    EK_ASSIGN_OR_RETURN(const v1::BlobRef digests,
                        Only(interpreted, "digests"));
    return simulate(i, chunk, states, &digests);
  };
  co_return co_await ForEachPreparedChunk(data, interpret, start, collect);
}

// Where nothing simulates the chip: its integers, as the reference computes
// them.
Task<absl::Status> TargetStages::InterpretChunks(const Data& data) {
  const auto start = [&](size_t i, const v1::Digest& chunk,
                         const std::vector<v1::BlobRef>& states) {
    v1::StageOptions options;
    options.mutable_interpret();
    std::vector<v1::BlobRef> inputs = {run_.deployed->graph(),
                                       As("chunk", chunk)};
    inputs.insert(inputs.end(), data.labels.begin(), data.labels.end());
    inputs.insert(inputs.end(), states.begin(), states.end());
    return run_.stages.Start(absl::StrCat("interpret[", i, "]"), options,
                             inputs);
  };
  const auto collect = [&](const v1::StageResult& result) -> absl::Status {
    EK_RETURN_IF_ERROR(AddChunk(result, simulated_));
    if (MeasuresDeployed()) EK_RETURN_IF_ERROR(AddChunk(result, interpreted_));
    context_.OnSamples(ProgressOf(simulated_.totals, data.samples,
                                  run_.stages.target(), metric_));
    return absl::OkStatus();
  };
  co_return co_await ForEachChunk(data, start, collect);
}

Task<absl::Status> TargetStages::Simulate(const Binary& binary) {
  EK_CO_ASSIGN_OR_RETURN(const v1::StageResult& converted,
                         co_await ResultOf(run_.deployed->data()));
  EK_CO_ASSIGN_OR_RETURN(const Data data, DataOf(converted));
  // What is only profiled, or has no reference, has no metric.
  if (MeasuresDeployed() || model_.has_reference()) {
    EK_CO_ASSIGN_OR_RETURN(metric_,
                           ChooseMetric(request_.options(), data.summary));
  }
  if (binary.is_simulated) {
    EK_CO_RETURN_IF_ERROR(co_await SimulateChunks(binary, data));
    AddBitExact(simulated_.totals, run_.report);
    AddCycleRange(simulated_.totals, run_.report);
  } else {
    EK_CO_RETURN_IF_ERROR(co_await InterpretChunks(data));
  }
  if (Wants(request_, v1::RUN)) {
    EK_CO_RETURN_IF_ERROR(co_await PackOutputs(simulated_.outputs.chunks));
  }
  if (metric_ == v1::METRIC_UNSPECIFIED) co_return absl::OkStatus();
  if (!MeasuresDeployed()) {
    co_await model_.JoinReference();
    EK_CO_RETURN_IF_ERROR(model_.reference_status());
  }
  AccuracyStages stages(request_, model_, run_);
  co_return co_await stages.Run(
      metric_, data, simulated_,
      MeasuresDeployed() ? interpreted_ : model_.reference().computed);
}

// What this job knows of the target now, with the cycles, once they are
// counted. Outlives TargetStages; `known` is handed over, as the target goes on
// filling its own report.
Task<absl::Status> TellCounted(std::shared_ptr<PendingStage> resolving,
                               std::shared_ptr<PendingStage> emitting,
                               std::shared_ptr<PendingStage> counting,
                               v1::IoForm io, int target, v1::Report known,
                               JobContext& context) {
  EK_CO_ASSIGN_OR_RETURN(const v1::StageResult& resolved,
                         co_await ResultOf(resolving));
  EK_CO_ASSIGN_OR_RETURN(const v1::StageResult& emitted,
                         co_await ResultOf(emitting));
  EK_CO_ASSIGN_OR_RETURN(const v1::StageResult& counted,
                         co_await ResultOf(counting));
  AddProgram(resolved.summary().target(), emitted.summary().emit(),
             counted.summary().sim_report(), io, known);
  context.OnCounted(CountedOf(target, std::move(known)));
  co_return absl::OkStatus();
}

void TargetStages::WarnOfWhatIsNotThere(const v1::StageSummary::Target& target,
                                        const Binary& binary) {
  if (!binary.firmware) {
    if (request_.options().compiler() != v1::COMPILER_FAMILY_UNSPECIFIED) {
      run_.report.add_warnings(
          "the compiler is not used: the target runs no C code");
    }
    return;
  }
  if (binary.is_simulated) return;
  run_.report.add_warnings(absl::StrCat(
      binary.constants ? "nothing simulates " : "no compiler, no run on ",
      target.machine().host_name(), ": cycles are estimated from the code",
      Wants(request_, v1::VALIDATE) || Wants(request_, v1::RUN)
          ? ", and values are the reference interpreter's"
          : ""));
}

Task<absl::Status> TargetStages::Run() {
  EK_CO_ASSIGN_OR_RETURN(const v1::StageResult& resolved,
                         co_await ResultOf(run_.resolve));
  const v1::StageSummary::Target& target = resolved.summary().target();
  EK_CO_RETURN_IF_ERROR(CheckHotSpots(request_, target));
  EK_CO_ASSIGN_OR_RETURN(const Binary binary, co_await Compile(resolved));
  *run_.report.mutable_program() = binary.program.digest();
  WarnOfWhatIsNotThere(target, binary);

  std::shared_ptr<PendingStage> bundling;
  if (Wants(request_, v1::COMPILE)) bundling = StartBundle(binary);
  std::shared_ptr<PendingStage> counting;
  if (binary.is_simulated) {
    EK_CO_ASSIGN_OR_RETURN(counting, co_await StartCounting(target, binary));
    if (WantsSamples(request_)) {
      beside_.Spawn(
          TellCounted(run_.resolve, binary.emitting, counting, model_.io(),
                      run_.stages.target(), run_.report, context_),
          run_.told);
    }
  }
  // What is only profiled has nothing to compare there.
  if (WantsSamples(request_) &&
      (binary.is_simulated || Wants(request_, v1::VALIDATE) ||
       Wants(request_, v1::RUN))) {
    EK_CO_RETURN_IF_ERROR(co_await Simulate(binary));
  }
  EK_CO_ASSIGN_OR_RETURN(const v1::StageResult& emitted,
                         co_await ResultOf(binary.emitting));
  if (counting == nullptr) {
    AddProgram(target, emitted.summary().emit(),
               EstimateOf(target, emitted.summary().emit()), model_.io(),
               run_.report);
  } else {
    EK_CO_ASSIGN_OR_RETURN(const v1::StageResult& counted,
                           co_await ResultOf(counting));
    AddProgram(target, emitted.summary().emit(), counted.summary().sim_report(),
               model_.io(), run_.report);
    if (counted.summary().sim_report().has_hot_spots()) {
      *run_.report.mutable_hot_spots() =
          counted.summary().sim_report().hot_spots();
    }
    if (request_.options().timeline()) {
      EK_CO_ASSIGN_OR_RETURN(const v1::BlobRef timeline,
                             Only(counted, "timeline"));
      AddArtifact("timeline.pb", timeline.digest());
    }
  }
  if (bundling == nullptr) co_return absl::OkStatus();
  EK_CO_ASSIGN_OR_RETURN(const v1::StageResult& bundled,
                         co_await ResultOf(bundling));
  for (const v1::BlobRef& file : bundled.outputs()) {
    AddArtifact(file.role(), file.digest());
  }
  co_return absl::OkStatus();
}

}  // namespace

Task<absl::Status> RunOnTarget(const v1::CreateJobRequest& request,
                               const ModelStages& model, JobContext& context,
                               TaskScope& beside, TargetRun& run) {
  TargetStages stages(request, model, context, beside, run);
  co_return co_await stages.Run();
}

Task<absl::Status> RunOnReference(const v1::CreateJobRequest& request,
                                  const ModelStages& model, JobContext& context,
                                  TaskScope& beside, TargetRun& run) {
  TargetStages stages(request, model, context, beside, run);
  co_return co_await stages.Interpret();
}

}  // namespace edgekiln::server
