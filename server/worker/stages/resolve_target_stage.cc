#include <set>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "edgekiln/v1/target.pb.h"
#include "server/worker/stages/stages.h"
#include "target/engine_model.h"
#include "target/memories.h"
#include "target/quantization_needs.h"
#include "target/resolve.h"

namespace edgekiln::server {

namespace {

// As cmake/StageVersions.cmake names them.
absl::StatusOr<std::set<std::string>> PartsOf(
    const target::TargetAndFiles& read) {
  std::set<std::string> parts;
  for (const std::string& file : read.files) {
    parts.insert(absl::StrCat("chip/", file));
  }
  for (const v1::Machine::Engine& engine : read.target.machine().engines()) {
    EK_ASSIGN_OR_RETURN(const target::EngineModel* const model,
                        target::FindEngineModel(engine.model()));
    parts.insert(absl::StrCat("engine/", model->folder()));
  }
  if (read.target.machine().has_firmware()) parts.insert("engine/rv32");
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
  EK_ASSIGN_OR_RETURN(const std::set<std::string> parts, PartsOf(read));
  for (const std::string& part : parts) summary.add_parts(part);
  *summary.mutable_recipes() = resolved.recipes();
  *summary.mutable_quantization_needs() =
      target::QuantizationNeedsOf(resolved.capabilities());
  auto& machine = *summary.mutable_machine();
  machine.set_clock_hz(resolved.machine().clock_hz());
  for (const v1::Machine::Engine& engine : resolved.machine().engines()) {
    machine.add_engine_names(engine.name());
    machine.add_engine_macs_per_cycle(engine.macs_per_cycle());
    const v1::ResolvedLink* link =
        target::OnlyLinkOf(resolved.machine(), machine.engine_names_size() - 1);
    machine.add_engine_bytes_per_cycle(
        link == nullptr ? 0 : link->bytes_per_cycle());
  }
  machine.set_host_name(resolved.machine().host_name());
  summary.set_processor(resolved.machine().firmware().processor());
  return output;
}

}  // namespace edgekiln::server
