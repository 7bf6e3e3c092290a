#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "edgekiln/v1/target.pb.h"
#include "server/worker/stages/stages.h"
#include "target/resolve.h"
#include "target/validate_machine.h"

namespace edgekiln::server {

namespace {

// As cmake/StageVersions.cmake names them.
std::set<std::string> PartsOf(const target::TargetAndFiles& read) {
  std::set<std::string> parts;
  for (const std::string& file : read.files) {
    parts.insert(absl::StrCat("chip/", file));
  }
  for (const v1::Machine::Engine& engine : read.target.machine().engines()) {
    parts.insert(absl::StrCat("engine/", target::EngineFolder(engine.model())));
  }
  return parts;
}

}  // namespace

absl::StatusOr<StageOutput> RunResolveTarget(const v1::ResolveTargetOptions&,
                                             const StageInputs& inputs) {
  EK_ASSIGN_OR_RETURN(const absl::string_view text, inputs.One("target"));
  EK_ASSIGN_OR_RETURN(const target::TargetAndFiles read,
                      target::ResolveTargetAndFiles(text),
                      "reading the target");
  const v1::ResolvedTarget& resolved = read.target;
  StageOutput output;
  output.Add("capabilities", resolved.capabilities());
  output.Add("machine", resolved.machine());
  v1::StageSummary::Target& summary = *output.summary.mutable_target();
  summary.set_name(resolved.name());
  for (const std::string& part : PartsOf(read)) summary.add_parts(part);
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
