#include "server/firmware_stages.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "server/stage_results.h"
#include "target/firmware.h"

namespace edgekiln::server {
namespace {

v1::CompilerFamily FamilyOf(const v1::CreateJobRequest& request) {
  const v1::CompilerFamily asked = request.options().compiler();
  return asked == v1::COMPILER_FAMILY_UNSPECIFIED ? v1::GCC : asked;
}

absl::Status UnknownCompiler(const target::ProcessorInfo& processor,
                             v1::CompilerFamily family) {
  std::vector<absl::string_view> names;
  for (const target::CompilerUse& use : processor.compilers) {
    names.push_back(target::CompilerFamilyName(use.family));
  }
  names.push_back(target::CompilerFamilyName(v1::NO_COMPILER));
  return MakeError(
      absl::StatusCode::kInvalidArgument,
      {.fault = Fault::kUser,
       .reason = "COMPILER_UNKNOWN",
       .what = absl::StrCat("no ", target::CompilerFamilyName(family),
                            " is used for ", processor.name),
       .limit = absl::StrJoin(names, ", "),
       .fix = absl::StrCat("--compiler ", names[0])});
}

}  // namespace

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
    co_return UnknownCompiler(*processor, family);
  }
  v1::StageOptions emit;
  emit.mutable_emit_c();
  if (recipe.kernels() != v1::CRecipe::KERNELS_UNSPECIFIED) {
    *emit.mutable_emit_c()->mutable_recipe() = recipe;
  }
  const auto emitting =
      run.stages.Start("emit_c", emit, {run.deployed->graph(), machine});
  EK_CO_ASSIGN_OR_RETURN(const v1::StageResult& emitted,
                         co_await ResultOf(emitting));
  Firmware firmware = {.emitting = emitting};
  EK_CO_ASSIGN_OR_RETURN(firmware.program, Only(emitted, "program"));
  EK_CO_ASSIGN_OR_RETURN(firmware.c_sources, Only(emitted, "c_sources"));
  if (family == v1::NO_COMPILER) co_return firmware;

  v1::StageOptions build;
  v1::Compiler& compiler = *build.mutable_build_firmware()->mutable_compiler();
  compiler.set_family(family);
  compiler.set_program(use->program);
  const std::optional<v1::Compiler> found =
      context.FindCompiler(family, use->program);
  if (found.has_value()) compiler.set_digest(found->digest());
  const auto building = run.stages.Start(
      "build_firmware", build, {firmware.program, firmware.c_sources, machine});
  EK_CO_ASSIGN_OR_RETURN(const v1::StageResult& built,
                         co_await ResultOf(building));
  EK_CO_ASSIGN_OR_RETURN(firmware.program, Only(built, "program"));
  EK_CO_ASSIGN_OR_RETURN(firmware.elf, Only(built, "constants"));
  firmware.is_simulated = processor->is_simulated;
  firmware.emitting = building;
  // By now a worker has shown it.
  *run.report.mutable_compiler() =
      found.has_value()
          ? *found
          : context.FindCompiler(family, use->program).value_or(compiler);
  co_return firmware;
}

}  // namespace edgekiln::server
