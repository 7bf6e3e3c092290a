#include <string>
#include <utility>
#include <vector>

#include "base/digest.h"
#include "base/status_macros.h"
#include "compiler/codegen/firmware/emit_firmware.h"
#include "edgekiln/v1/program.pb.h"
#include "edgekiln/v1/target.pb.h"
#include "proto/convert.h"
#include "server/worker/stages/graph_input.h"
#include "server/worker/stages/stages.h"

namespace edgekiln::server {

absl::StatusOr<StageOutput> RunEmitC(const v1::EmitCOptions& options,
                                     const StageInputs& inputs) {
  EK_ASSIGN_OR_RETURN(const auto graph, GraphInput(inputs));
  EK_ASSIGN_OR_RETURN(const v1::Machine machine,
                      inputs.Parse<v1::Machine>("machine"));
  // Programs that this stage made before, which were found too large.
  EK_ASSIGN_OR_RETURN(const std::vector<v1::Program> refused,
                      inputs.ParseAll<v1::Program>("program"));
  std::vector<int64_t> refused_bytes;
  for (const v1::Program& program : refused) {
    refused_bytes.push_back(program.flash_bytes());
  }
  EK_ASSIGN_OR_RETURN(
      compiler::FirmwareSources emitted,
      compiler::EmitFirmware(*graph, machine, options.recipe(), refused_bytes),
      "making C code");
  StageOutput output;
  output.warnings = std::move(emitted.warnings);
  std::string program = emitted.program.SerializeAsString();
  v1::StageSummary::Emit& summary = *output.summary.mutable_emit();
  *summary.mutable_layers() = emitted.program.layers();
  *summary.mutable_tensors() = emitted.program.tensors();
  summary.set_flash_bytes(emitted.program.flash_bytes());
  summary.set_ram_bytes(emitted.program.ram_bytes());
  summary.set_io_conversion_cycles(emitted.io_conversion_cycles);
  for (int i = 0; i < machine.memories_size(); ++i) {
    v1::MemoryUse& use = *summary.add_memories();
    use.set_name(machine.memories(i).name());
    use.set_used_bytes(emitted.memory_bytes[i]);
    use.set_capacity_bytes(machine.memories(i).capacity_bytes());
  }
  *summary.mutable_program() = ToProto(DigestOf(program));
  output.Add("program", std::move(program));
  output.Add("c_sources", emitted.sources.SerializeAsString());
  return output;
}

}  // namespace edgekiln::server
