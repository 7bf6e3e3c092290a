#include "server/firmware_stages.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "server/stage_results.h"
#include "target/firmware.h"

namespace edgekiln::server {
namespace {

// What is tried, in order, where the compiler finds firmware too large: kernels
// chosen anew with more allowance for code, then those of the smaller recipes.
constexpr v1::CRecipe::Kernels kTries[] = {
    v1::CRecipe::KERNELS_UNSPECIFIED, v1::CRecipe::KERNELS_UNSPECIFIED,
    v1::CRecipe::SMALL, v1::CRecipe::PLAIN};

v1::CompilerFamily FamilyOf(const v1::CreateJobRequest& request) {
  const v1::CompilerFamily asked = request.options().compiler();
  return asked == v1::COMPILER_FAMILY_UNSPECIFIED ? v1::GCC : asked;
}

// Without a compiler there is nothing better to go by.
absl::Status CheckEstimates(const v1::StageSummary::Emit& emit) {
  for (const v1::MemoryUse& use : emit.memories()) {
    if (use.used_bytes() <= use.capacity_bytes()) continue;
    return MakeError(
        absl::StatusCode::kResourceExhausted,
        {.fault = Fault::kUser,
         .reason = "FIRMWARE_DOES_NOT_FIT",
         .what = "by estimate, the firmware does not fit",
         .where = absl::StrCat("memory ", use.name()),
         .limit = absl::StrCat(use.capacity_bytes(), " bytes"),
         .need = absl::StrCat("about ", use.used_bytes(), " bytes"),
         .fix = "use a target with more of this memory, a smaller model, or a "
                "compiler, which knows it exactly"});
  }
  return absl::OkStatus();
}

// A stage that is over, and the compiler that it ran.
struct Built {
  std::shared_ptr<PendingStage> stage;
  v1::Compiler compiler;
};

// The compiler that it was to run is gone, or is another by now.
bool LostItsCompiler(const absl::Status& status) {
  const std::optional<ErrorDetail> detail = GetErrorDetail(status);
  return detail.has_value() && (detail->reason == "COMPILER_MISSING" ||
                                detail->reason == "COMPILER_CHANGED");
}

// Workers come and go: where one with another compiler of that name is there,
// that is taken instead.
Task<absl::StatusOr<Built>> Build(v1::CompilerFamily family,
                                  const std::string& program, bool debug_info,
                                  const Firmware& firmware,
                                  const v1::BlobRef& machine,
                                  JobContext& context, TargetRun& run) {
  constexpr int kAttempts = 3;
  v1::StageOptions options;
  options.mutable_build_firmware()->set_debug_info(debug_info);
  v1::Compiler& compiler =
      *options.mutable_build_firmware()->mutable_compiler();
  compiler.set_family(family);
  compiler.set_program(program);
  std::optional<v1::Compiler> found = context.FindCompiler(family, program);
  for (int attempt = 1;; ++attempt) {
    compiler.set_digest(found.has_value() ? found->digest() : "");
    const auto stage =
        run.stages.Start("build_firmware", options,
                         {firmware.emitted, firmware.c_sources, machine});
    const auto& result = co_await ResultOf(stage);
    const std::optional<v1::Compiler> now =
        context.FindCompiler(family, program);
    if (result.ok() || attempt == kAttempts || !now.has_value() ||
        now->digest() == compiler.digest() ||
        !LostItsCompiler(result.status())) {
      // By now a worker has shown it, if it was not known before.
      co_return Built{stage,
                      found.has_value() ? *found : now.value_or(compiler)};
    }
    found = now;
  }
}

bool Holds(const std::vector<v1::BlobRef>& blobs, const v1::BlobRef& blob) {
  return std::any_of(blobs.begin(), blobs.end(), [&](const v1::BlobRef& one) {
    return one.SerializeAsString() == blob.SerializeAsString();
  });
}

// The bytes that would suffice, of an error that says that firmware does not
// fit; else nothing.
std::optional<int64_t> NeedOf(const absl::Status& status) {
  const std::optional<ErrorDetail> detail = GetErrorDetail(status);
  int64_t bytes = 0;
  if (!detail.has_value() || detail->reason != "FIRMWARE_DOES_NOT_FIT" ||
      !absl::SimpleAtoi(detail->need.substr(0, detail->need.find(' ')),
                        &bytes)) {
    return std::nullopt;
  }
  return bytes;
}

// With these kernels and no others. `use` is null for NO_COMPILER. `refused`:
// programs that the compiler found too large, which kernels are chosen after;
// one that is refused here is added.
Task<absl::StatusOr<Firmware>> Make(v1::CRecipe::Kernels kernels,
                                    v1::CompilerFamily family,
                                    const target::CompilerUse* use,
                                    const v1::BlobRef& machine,
                                    JobContext& context, TargetRun& run,
                                    std::vector<v1::BlobRef>& refused) {
  v1::StageOptions emit;
  emit.mutable_emit_c();
  if (kernels != v1::CRecipe::KERNELS_UNSPECIFIED) {
    emit.mutable_emit_c()->mutable_recipe()->set_kernels(kernels);
  }
  std::vector<v1::BlobRef> inputs = {run.deployed->graph(), machine};
  inputs.insert(inputs.end(), refused.begin(), refused.end());
  const auto emitting = run.stages.Start("emit_c", emit, std::move(inputs));
  EK_CO_ASSIGN_OR_RETURN(const v1::StageResult& emitted,
                         co_await ResultOf(emitting));
  Firmware firmware = {
      .io_conversion_cycles = emitted.summary().emit().io_conversion_cycles(),
      .emitting = emitting};
  EK_CO_ASSIGN_OR_RETURN(firmware.emitted, Only(emitted, "program"));
  EK_CO_ASSIGN_OR_RETURN(firmware.c_sources, Only(emitted, "c_sources"));
  if (use == nullptr) {
    EK_CO_RETURN_IF_ERROR(CheckEstimates(emitted.summary().emit()));
    firmware.program = firmware.emitted;
    co_return firmware;
  }
  if (Holds(refused, firmware.emitted)) {
    run.stages.Drop(emitting);
    co_return absl::ResourceExhaustedError("nothing smaller was found");
  }
  EK_CO_ASSIGN_OR_RETURN(
      const Built built,
      co_await Build(family, use->program, /*debug_info=*/false, firmware,
                     machine, context, run));
  const auto& built_result = co_await ResultOf(built.stage);
  if (NeedOf(built_result.status()).has_value()) {
    refused.push_back(firmware.emitted);
    run.stages.Drop(emitting);
  }
  EK_CO_ASSIGN_OR_RETURN(const v1::StageResult& result, built_result);
  EK_CO_ASSIGN_OR_RETURN(firmware.program, Only(result, "program"));
  EK_CO_ASSIGN_OR_RETURN(firmware.elf, Only(result, "constants"));
  firmware.emitting = built.stage;
  *run.report.mutable_compiler() = built.compiler;
  co_return firmware;
}

}  // namespace

absl::Status CheckHotSpots(const v1::CreateJobRequest& request,
                           const v1::StageSummary::Target& target) {
  if (!request.options().hot_spots()) return absl::OkStatus();
  const target::ProcessorInfo* const processor =
      target::FindProcessor(target.processor());
  if (processor != nullptr && processor->is_simulated) return absl::OkStatus();
  return MakeError(
      absl::StatusCode::kInvalidArgument,
      {.fault = Fault::kUser,
       .reason = "HOT_SPOTS_UNAVAILABLE",
       .what = processor == nullptr
                   ? "hot spots are those of C code, and the target runs none"
                   : absl::StrCat("hot spots are those of a simulated run, and "
                                  "nothing simulates ",
                                  processor->name),
       .where = "options.hot_spots",
       .need = "a target whose host is rv32im, rv32imc or rv32imf",
       .fix = "use such a target, or leave --hot out"});
}

Task<absl::StatusOr<Firmware>> MakeFirmware(
    const v1::CreateJobRequest& request, const v1::StageSummary::Target& target,
    const v1::BlobRef& machine, const v1::CRecipe& recipe, JobContext& context,
    TargetRun& run) {
  const target::ProcessorInfo* const processor =
      target::FindProcessor(target.processor());
  if (processor == nullptr) {
    co_return absl::InternalError("a target with an unknown processor");
  }
  const v1::CompilerFamily family = FamilyOf(request);
  const target::CompilerUse* const use =
      target::FindCompiler(target.processor(), family);
  if (use == nullptr && family != v1::NO_COMPILER) {
    co_return absl::InternalError("a processor without that compiler");
  }
  std::vector<v1::BlobRef> refused;
  absl::StatusOr<Firmware> made = co_await Make(recipe.kernels(), family, use,
                                                machine, context, run, refused);
  // The kernels were chosen by estimates of their size. Where the compiler
  // finds that too much, smaller ones may do.
  const bool may_choose =
      use != nullptr && recipe.kernels() == v1::CRecipe::KERNELS_UNSPECIFIED;
  std::optional<int64_t> least = NeedOf(made.status());
  for (const auto kernels : kTries) {
    if (!may_choose || !least.has_value() || made.ok()) break;
    const bool is_choice = kernels == v1::CRecipe::KERNELS_UNSPECIFIED;
    std::vector<v1::BlobRef> none;
    absl::StatusOr<Firmware> other =
        co_await Make(kernels, family, use, machine, context, run,
                      is_choice ? refused : none);
    if (other.ok()) {
      run.report.add_warnings(absl::StrCat(
          "the fastest kernels that were estimated to fit need ", *least,
          " bytes of a memory, so that slower ones are used",
          is_choice                       ? ""
          : kernels == v1::CRecipe::SMALL ? ", those of recipe size"
                                          : ", those of recipe plain"));
      made = std::move(other);
      break;
    }
    const std::optional<int64_t> need = NeedOf(other.status());
    if (!need.has_value() || *need >= *least) continue;
    least = need;
    made = std::move(other);
  }
  if (made.ok()) {
    made->is_simulated = made->elf.has_value() && processor->is_simulated;
  }
  co_return made;
}

Task<absl::StatusOr<Firmware>> WithLineTables(
    const v1::CreateJobRequest& request, const v1::StageSummary::Target& target,
    const v1::BlobRef& machine, const Firmware& firmware, JobContext& context,
    TargetRun& run) {
  const v1::CompilerFamily family = FamilyOf(request);
  const target::CompilerUse* const use =
      target::FindCompiler(target.processor(), family);
  if (use == nullptr) co_return absl::InternalError("firmware of no compiler");
  EK_CO_ASSIGN_OR_RETURN(
      const Built built,
      co_await Build(family, use->program,
                     /*debug_info=*/true, firmware, machine, context, run));
  EK_CO_ASSIGN_OR_RETURN(const v1::StageResult& result,
                         co_await ResultOf(built.stage));
  Firmware with_lines = firmware;
  EK_CO_ASSIGN_OR_RETURN(with_lines.program, Only(result, "program"));
  EK_CO_ASSIGN_OR_RETURN(with_lines.elf, Only(result, "constants"));
  co_return with_lines;
}

}  // namespace edgekiln::server
