#include "server/worker/stages/session_input.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "edgekiln/v1/target.pb.h"
#include "simfarm/simulators/rv32/elf.h"

namespace edgekiln::server {
namespace {

// What LoadedProgram.intermediates has.
v1::Program IntermediatesOf(const v1::Program& program) {
  v1::Program intermediates;
  if (program.accumulators().empty()) return intermediates;
  *intermediates.mutable_accumulators() = program.accumulators();
  *intermediates.mutable_layouts() = program.layouts();
  absl::flat_hash_set<int32_t> untold;
  for (const v1::Program::Accumulator& each : program.accumulators()) {
    untold.insert(each.tensor());
  }
  for (const v1::Program::Tap& tap : program.taps()) {
    if (untold.erase(tap.tensor()) > 0) *intermediates.add_taps() = tap;
  }
  return intermediates;
}

// Whether a layer calls a function of the target's own: these are linked only
// then.
bool CallsOwnKernels(const v1::Machine& machine, absl::string_view elf) {
  absl::flat_hash_set<absl::string_view> own;
  for (const v1::CKernel& row : machine.firmware().kernels()) {
    own.insert(row.call().function());
  }
  if (own.empty()) return false;
  const auto executable = simfarm::rv32::ReadElf(elf);
  return executable.ok() &&
         std::any_of(executable->functions.begin(), executable->functions.end(),
                     [&own](const simfarm::rv32::Function& function) {
                       return own.contains(function.name);
                     });
}

// What was put in front of the error: "layer conv1".
std::string ContextOf(const absl::Status& status, const ErrorDetail& detail) {
  const absl::string_view message = status.message();
  const size_t at = message.find(detail.what);
  if (at == absl::string_view::npos) return "";
  return std::string(absl::StripSuffix(message.substr(0, at), ": "));
}

// Whether the user's data, or the numbers and expressions of the user's target,
// bring it about in a program without faults.
bool IsOfDataOrTarget(const ErrorDetail& detail) {
  static constexpr absl::string_view kReasons[] = {
      "INDEX_RANGE",     "STACK_OVERFLOW",      "TARGET_INVALID",
      "TOO_MANY_CYCLES", "EXPRESSION_OVERFLOW",
  };
  return absl::c_linear_search(kReasons, detail.reason);
}

}  // namespace

absl::StatusOr<std::shared_ptr<LoadedProgram>> LoadProgram(
    const StageInputs& inputs, const simfarm::SessionOptions& options) {
  EK_ASSIGN_OR_RETURN(const v1::Program program,
                      inputs.Parse<v1::Program>("program"));
  EK_ASSIGN_OR_RETURN(const absl::string_view constants,
                      inputs.One("constants"));
  EK_ASSIGN_OR_RETURN(const v1::Machine machine,
                      inputs.Parse<v1::Machine>("machine"));
  absl::StatusOr<std::unique_ptr<simfarm::Session>> session =
      simfarm::LoadSession(program, constants, machine, options);
  if (!session.ok()) return SimulationError(session.status());
  auto loaded = std::make_shared<LoadedProgram>();
  for (const v1::Program::Binding& input : program.inputs()) {
    loaded->inputs.push_back(input.type());
  }
  for (const v1::Program::Binding& output : program.outputs()) {
    loaded->outputs.push_back(output.type());
  }
  loaded->intermediates = IntermediatesOf(program);
  loaded->is_firmware = program.has_firmware();
  loaded->has_own_kernels = CallsOwnKernels(machine, constants);
  loaded->session = *std::move(session);
  return loaded;
}

absl::StatusOr<std::shared_ptr<LoadedProgram>> WarmProgram(
    const StageInputs& inputs,
    const std::vector<int64_t>& tensor_element_bytes) {
  simfarm::SessionOptions options;
  options.tensor_element_bytes = tensor_element_bytes;
  return inputs.Prepared<LoadedProgram>(
      {"program", "constants", "machine"},
      absl::StrCat("taps ", absl::StrJoin(tensor_element_bytes, ",")),
      [&] { return LoadProgram(inputs, options); });
}

absl::Status SimulationError(const absl::Status& status, bool own_kernels) {
  if (status.ok() || absl::IsResourceExhausted(status)) return status;
  const std::optional<ErrorDetail> detail = GetErrorDetail(status);
  if (detail.has_value() && IsOfDataOrTarget(*detail)) return status;
  if (own_kernels && detail.has_value() && detail->reason == "FIRMWARE_FAULT") {
    ErrorDetail of_target = *detail;
    of_target.fault = Fault::kUser;
    of_target.fix =
        "correct the target's own kernel, or the arguments of its "
        "row; without c_kernels it would be a bug of edgekiln";
    const std::string context = ContextOf(status, *detail);
    return Annotate(MakeError(status.code(), std::move(of_target)), context);
  }
  return MakeError(
      absl::StatusCode::kInternal,
      {.fault = Fault::kInfra,
       .reason = "SIMULATION",
       .what = std::string("the simulated chip found a fault in the "
                           "program: ") +
               std::string(status.message()),
       .fix = "report this together with the model and the target"});
}

}  // namespace edgekiln::server
