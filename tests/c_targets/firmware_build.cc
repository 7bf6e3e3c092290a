#include "tests/c_targets/firmware_build.h"

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/codegen/firmware/emit_firmware.h"
#include "server/worker/run_program.h"
#include "server/worker/stages/stages.h"
#include "target/builtin.h"
#include "target/firmware.h"
#include "target/resolve.h"

namespace edgekiln::tests {
namespace {

std::string BlobOf(const server::StageOutput& output, absl::string_view role) {
  for (const auto& [name, bytes] : output.blobs) {
    if (name == role) return bytes;
  }
  return "";
}

}  // namespace

std::string MissingCompiler(v1::Processor processor,
                            v1::CompilerFamily family) {
  const target::CompilerUse* const use =
      target::FindCompiler(processor, family);
  if (use == nullptr) return "compiler";
  for (const std::string& program : {use->program, target::LinkProgram(*use)}) {
    if (!server::FindProgram(program, server::SearchPath())) return program;
  }
  return "";
}

absl::StatusOr<v1::Machine> MachineOf(const std::string& target) {
  for (const target::BuiltinTarget& builtin : target::BuiltinTargets()) {
    if (builtin.name != target) continue;
    EK_ASSIGN_OR_RETURN(const v1::ResolvedTarget resolved,
                        target::ResolveTarget(builtin.text));
    return resolved.machine();
  }
  return absl::NotFoundError(absl::StrCat("no target ", target));
}

absl::StatusOr<BuiltFirmware> BuildFirmware(
    const compiler::Graph& graph, const v1::Machine& machine,
    v1::CRecipe::Kernels kernels,
    const std::function<void(v1::CSourceTree&)>& edit,
    v1::CompilerFamily family) {
  v1::CRecipe recipe;
  recipe.set_kernels(kernels);
  EK_ASSIGN_OR_RETURN(compiler::FirmwareSources emitted,
                      compiler::EmitFirmware(graph, machine, recipe));
  if (edit != nullptr) edit(emitted.sources);
  const std::string program = emitted.program.SerializeAsString();
  const std::string sources = emitted.sources.SerializeAsString();
  const std::string chip = machine.SerializeAsString();
  server::StageInputs inputs;
  inputs.Add("program", program);
  inputs.Add("c_sources", sources);
  inputs.Add("machine", chip);
  v1::BuildFirmwareOptions options;
  options.mutable_compiler()->set_family(family);
  const target::CompilerUse* const use =
      target::FindCompiler(machine.firmware().processor(), family);
  if (use == nullptr) return absl::NotFoundError("no such compiler");
  options.mutable_compiler()->set_program(use->program);
  EK_ASSIGN_OR_RETURN(const server::StageOutput built,
                      server::RunBuildFirmware(options, inputs));
  BuiltFirmware firmware;
  if (!firmware.program.ParseFromString(BlobOf(built, "program"))) {
    return absl::InternalError("the program does not parse");
  }
  firmware.elf = BlobOf(built, "constants");
  return firmware;
}

}  // namespace edgekiln::tests
