#include "server/target_stages.h"

#include <optional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "server/chosen_recipe.h"
#include "server/firmware_stages.h"
#include "server/fit_check.h"
#include "server/report_builder.h"
#include "server/sample_stages.h"
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

 private:
  Task<absl::StatusOr<v1::BlobRef>> Place(const v1::PartitionRecipe& recipe,
                                          const v1::BlobRef& capabilities,
                                          const v1::BlobRef& machine);
  Task<absl::StatusOr<TargetBinary>> Compile(const v1::StageResult& resolved);
  Task<absl::Status> CheckFit(const StageCall* tile);
  std::shared_ptr<PendingStage> StartBundle(const TargetBinary& binary);
  bool CountsWithoutValues() const;
  StageCall CountCall(const v1::BlobRef& program,
                      const std::optional<v1::BlobRef>& constants,
                      const v1::BlobRef& machine) const;
  Task<absl::StatusOr<std::shared_ptr<PendingStage>>> StartCounting(
      const v1::StageSummary::Target& target, const TargetBinary& binary);
  void WarnOfWhatIsNotThere(const v1::StageSummary::Target& target,
                            const TargetBinary& binary);

  const v1::CreateJobRequest& request_;
  const ModelStages& model_;
  JobContext& context_;
  TaskScope& beside_;
  TargetRun& run_;
};

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

// What an earlier stage of the same chain makes.
v1::BlobRef Made(absl::string_view role) {
  v1::BlobRef made;
  made.set_role(std::string(role));
  return made;
}

StageCall TileCall(const v1::TileRecipe& recipe, const v1::BlobRef& placed,
                   const v1::BlobRef& machine) {
  StageCall call = {.name = "tile", .inputs = {placed, machine}};
  *call.options.mutable_tile()->mutable_recipe() = recipe;
  return call;
}

StageCall EmitCall(const v1::BlobRef& placed, const v1::BlobRef& tiling,
                   const v1::BlobRef& machine) {
  StageCall call = {.name = "emit", .inputs = {placed, tiling, machine}};
  call.options.mutable_emit();
  return call;
}

// Makes the check that was put off, if there is one, and with it the program.
// Its refusal comes before what `tile`, null if there is none, would say.
Task<absl::Status> TargetStages::CheckFit(const StageCall* tile) {
  if (!run_.late_check_fit) co_return absl::OkStatus();
  StageCall check = *run_.late_check_fit;
  if (tile != nullptr) {
    check.next = tile->next;
    check.next.insert(check.next.begin(), *tile);
    check.next[0].next.clear();
  }
  run_.check_fit = run_.stages.Start(std::move(check));
  co_return co_await FitRefusal(run_);
}

Task<absl::StatusOr<TargetBinary>> TargetStages::Compile(
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
    co_return TargetBinary{.program = firmware.program,
                           .constants = firmware.elf,
                           .machine = machine,
                           .firmware = firmware,
                           .is_simulated = firmware.is_simulated,
                           .emitting = firmware.emitting};
  }

  // Weights have their forms by now.
  v1::PartitionRecipe partition = recipe.partition();
  partition.clear_narrowest_weights();
  const auto placing = co_await Place(partition, capabilities, machine);
  if (!placing.ok()) {
    EK_CO_RETURN_IF_ERROR(co_await CheckFit(nullptr));
    co_return placing.status();
  }
  const v1::BlobRef& placed = *placing;

  StageCall tile = TileCall(recipe.tile(), placed, machine);
  std::optional<v1::BlobRef> constants;
  if (!CountsWithoutValues()) constants = Made("constants");
  tile.next = {EmitCall(placed, Made("tiling"), machine),
               CountCall(Made("program"), constants, machine)};
  if (auto simulating = OnlySimulation({.program = Made("program"),
                                        .constants = Made("constants"),
                                        .machine = machine},
                                       request_, run_)) {
    tile.next.push_back(*std::move(simulating));
  }
  EK_CO_RETURN_IF_ERROR(co_await CheckFit(&tile));
  const auto tiling_stage = run_.stages.Start(std::move(tile));
  EK_CO_ASSIGN_OR_RETURN(const v1::StageResult& tiled,
                         co_await ResultOf(tiling_stage));
  EK_CO_ASSIGN_OR_RETURN(const v1::BlobRef tiling, Only(tiled, "tiling"));
  const auto emitting = run_.stages.Start(EmitCall(placed, tiling, machine));
  EK_CO_ASSIGN_OR_RETURN(const v1::StageResult& emitted,
                         co_await ResultOf(emitting));
  TargetBinary binary = {.machine = machine, .emitting = emitting};
  EK_CO_ASSIGN_OR_RETURN(binary.program, Only(emitted, "program"));
  EK_CO_ASSIGN_OR_RETURN(binary.constants, Only(emitted, "constants"));
  co_return binary;
}

std::shared_ptr<PendingStage> TargetStages::StartBundle(
    const TargetBinary& binary) {
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

// Where samples are simulated anyway, their values need not be computed for the
// cycles once more.
bool TargetStages::CountsWithoutValues() const {
  return request_.options().timing_only() || WantsSamples(request_);
}

StageCall TargetStages::CountCall(const v1::BlobRef& program,
                                  const std::optional<v1::BlobRef>& constants,
                                  const v1::BlobRef& machine) const {
  StageCall call = {.name = "count_cycles", .inputs = {program}};
  v1::CountCyclesOptions& options = *call.options.mutable_count_cycles();
  options.set_timing_only(CountsWithoutValues());
  options.set_timeline(request_.options().timeline());
  if (constants) call.inputs.push_back(*constants);
  call.inputs.push_back(machine);
  return call;
}

Task<absl::StatusOr<std::shared_ptr<PendingStage>>> TargetStages::StartCounting(
    const v1::StageSummary::Target& target, const TargetBinary& binary) {
  v1::BlobRef program = binary.program;
  std::optional<v1::BlobRef> constants = binary.constants;
  // Without values, constants are not even brought to the worker.
  if (CountsWithoutValues() && !binary.firmware) constants = std::nullopt;
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
  }
  StageCall call = CountCall(program, constants, binary.machine);
  if (hot_spots) {
    call.options.mutable_count_cycles()->set_hot_spots(true);
    call.inputs.push_back(binary.firmware->c_sources);
  }
  // The cycles of firmware depend on data.
  if (binary.firmware && WantsSamples(request_)) {
    EK_CO_ASSIGN_OR_RETURN(const v1::StageResult& converted,
                           co_await ResultOf(run_.deployed->data()));
    EK_CO_ASSIGN_OR_RETURN(const Data data, DataOf(converted));
    call.inputs.push_back(run_.deployed->graph());
    call.inputs.push_back(As("chunk", data.chunks[0]));
  }
  co_return run_.stages.Start(std::move(call));
}

// What this job knows of the target now, with the cycles, once they are
// counted. Outlives TargetStages; `known` is handed over, as the target goes on
// filling its own report.
Task<absl::Status> TellCounted(std::shared_ptr<PendingStage> resolving,
                               std::shared_ptr<PendingStage> emitting,
                               std::shared_ptr<PendingStage> counting,
                               v1::IoForm io, int target,
                               v1::SchemeChoice choice, v1::Report known,
                               JobContext& context) {
  EK_CO_ASSIGN_OR_RETURN(const v1::StageResult& resolved,
                         co_await ResultOf(resolving));
  EK_CO_ASSIGN_OR_RETURN(const v1::StageResult& emitted,
                         co_await ResultOf(emitting));
  EK_CO_ASSIGN_OR_RETURN(const v1::StageResult& counted,
                         co_await ResultOf(counting));
  AddProgram(resolved.summary().target(), emitted.summary().emit(),
             counted.summary().sim_report(), io, known);
  NameChoices(choice, known);
  context.OnCounted(CountedOf(target, std::move(known)));
  co_return absl::OkStatus();
}

void TargetStages::WarnOfWhatIsNotThere(const v1::StageSummary::Target& target,
                                        const TargetBinary& binary) {
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
  EK_CO_ASSIGN_OR_RETURN(const TargetBinary binary, co_await Compile(resolved));
  *run_.report.mutable_program() = binary.program.digest();
  WarnOfWhatIsNotThere(target, binary);

  std::shared_ptr<PendingStage> bundling;
  if (Wants(request_, v1::COMPILE)) bundling = StartBundle(binary);
  std::shared_ptr<PendingStage> counting;
  if (binary.is_simulated) {
    EK_CO_ASSIGN_OR_RETURN(counting, co_await StartCounting(target, binary));
    if (WantsSamples(request_)) {
      beside_.Spawn(TellCounted(run_.resolve, binary.emitting, counting,
                                model_.io(), run_.stages.target(),
                                run_.deployed->choice(), run_.report, context_),
                    run_.told);
    }
  }
  // What is only profiled has nothing to compare there.
  if (WantsSamples(request_) &&
      (binary.is_simulated || Wants(request_, v1::VALIDATE) ||
       Wants(request_, v1::RUN))) {
    EK_CO_RETURN_IF_ERROR(
        co_await RunSamples(binary, request_, model_, context_, run_));
  }
  EK_CO_ASSIGN_OR_RETURN(const v1::StageResult& emitted,
                         co_await ResultOf(binary.emitting));
  // Not copied where it need not be: it lists all layers and tensors.
  std::optional<v1::StageSummary::Emit> of_firmware;
  if (binary.firmware) {
    of_firmware = emitted.summary().emit();
    of_firmware->set_io_conversion_cycles(
        binary.firmware->io_conversion_cycles);
  }
  const v1::StageSummary::Emit& emit =
      of_firmware ? *of_firmware : emitted.summary().emit();
  if (counting == nullptr) {
    AddProgram(target, emit, EstimateOf(target, emit), model_.io(),
               run_.report);
    NameChoices(run_.deployed->choice(), run_.report);
  } else {
    EK_CO_ASSIGN_OR_RETURN(const v1::StageResult& counted,
                           co_await ResultOf(counting));
    AddProgram(target, emit, counted.summary().sim_report(), model_.io(),
               run_.report);
    NameChoices(run_.deployed->choice(), run_.report);
    if (counted.summary().sim_report().has_hot_spots()) {
      *run_.report.mutable_hot_spots() =
          counted.summary().sim_report().hot_spots();
    }
    if (request_.options().timeline()) {
      EK_CO_ASSIGN_OR_RETURN(const v1::BlobRef timeline,
                             Only(counted, "timeline"));
      run_.AddArtifact("timeline.pb", timeline.digest());
    }
  }
  if (bundling == nullptr) co_return absl::OkStatus();
  EK_CO_ASSIGN_OR_RETURN(const v1::StageResult& bundled,
                         co_await ResultOf(bundling));
  for (const v1::BlobRef& file : bundled.outputs()) {
    run_.AddArtifact(file.role(), file.digest());
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

}  // namespace edgekiln::server
