#include <string>
#include <utility>

#include "base/digest.h"
#include "base/status_macros.h"
#include "compiler/codegen/compile.h"
#include "edgekiln/v1/target.pb.h"
#include "edgekiln/v1/tiling.pb.h"
#include "proto/convert.h"
#include "server/worker/stages/partition_input.h"
#include "server/worker/stages/stages.h"

namespace edgekiln::server {

absl::StatusOr<StageOutput> RunEmit(const v1::EmitOptions&,
                                    const StageInputs& inputs) {
  EK_ASSIGN_OR_RETURN(
      const auto read,
      ReadPartitionInput(inputs, {"partition", "tiling", "machine"}));
  EK_ASSIGN_OR_RETURN(const v1::RegionPlans plan,
                      inputs.Parse<v1::RegionPlans>("tiling"));
  EK_ASSIGN_OR_RETURN(const auto machine,
                      inputs.ParseOnce<v1::Machine>("machine"));
  EK_ASSIGN_OR_RETURN(
      compiler::EmitResult emitted,
      compiler::EmitProgram(read->graph, read->partition, plan, *machine),
      "emitting");
  StageOutput output;
  std::string program = emitted.program.SerializeAsString();
  v1::StageSummary::Emit& summary = *output.summary.mutable_emit();
  *summary.mutable_layers() = emitted.program.layers();
  *summary.mutable_bounds() = emitted.program.bounds();
  *summary.mutable_tensors() = emitted.program.tensors();
  summary.set_flash_bytes(emitted.program.flash_bytes());
  summary.set_ram_bytes(emitted.program.ram_bytes());
  summary.set_sram_peak_bytes(emitted.program.sram_peak_bytes());
  for (int i = 0; i < machine->memories_size(); ++i) {
    v1::MemoryUse& use = *summary.add_memories();
    use.set_name(machine->memories(i).name());
    use.set_used_bytes(emitted.memory_bytes[i]);
    use.set_capacity_bytes(machine->memories(i).capacity_bytes());
  }
  summary.set_io_conversion_cycles(emitted.io_conversion_cycles);
  *summary.mutable_program() = ToProto(DigestOf(program));
  output.Add("program", std::move(program));
  output.Add("constants", std::move(emitted.constants));
  return output;
}

}  // namespace edgekiln::server
