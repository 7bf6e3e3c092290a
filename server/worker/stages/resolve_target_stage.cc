#include "base/status_macros.h"
#include "edgekiln/v1/target.pb.h"
#include "server/worker/stages/stages.h"
#include "target/resolve.h"

namespace edgekiln::server {

absl::StatusOr<StageOutput> RunResolveTarget(const v1::ResolveTargetOptions&,
                                             const StageInputs& inputs) {
  EK_ASSIGN_OR_RETURN(const absl::string_view text, inputs.One("target"));
  EK_ASSIGN_OR_RETURN(const v1::ResolvedTarget resolved,
                      target::ResolveTarget(text), "reading the target");
  StageOutput output;
  output.Add("capabilities", resolved.capabilities());
  output.Add("machine", resolved.machine());
  v1::StageSummary::Target& summary = *output.summary.mutable_target();
  summary.set_name(resolved.name());
  *summary.mutable_recipes() = resolved.recipes();
  auto& machine = *summary.mutable_machine();
  machine.set_clock_hz(resolved.machine().clock_hz());
  for (const v1::Machine::Engine& engine : resolved.machine().engines()) {
    machine.add_engine_names(engine.name());
    machine.add_engine_macs_per_cycle(engine.macs_per_cycle());
  }
  machine.set_host_name(resolved.machine().host_name());
  return output;
}

}  // namespace edgekiln::server
