#include "simfarm/session/firmware_machine.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "simfarm/session/firmware_values.h"
#include "simfarm/simulators/rv32/fault.h"

namespace edgekiln::simfarm {

absl::StatusOr<std::unique_ptr<FirmwareMachine>> FirmwareMachine::Create(
    std::shared_ptr<const FirmwareProgram> firmware, bool checked) {
  auto made = std::unique_ptr<FirmwareMachine>(
      new FirmwareMachine(std::move(firmware)));
  rv32::MachineConfig config = made->firmware_->config;
  config.checked = checked;
  config.profile = checked && made->firmware_->loaded->options.profile;
  if (config.profile) {
    made->observer_.Record(&made->recorder_.emplace());
  }
  config.devices = {{.name = "exit device",
                     .base = kExitDeviceAddress,
                     .device = &made->exit_}};
  EK_ASSIGN_OR_RETURN(made->machine_, rv32::NewMachine(std::move(config)),
                      "machine");
  EK_RETURN_IF_ERROR(made->machine_->Load(made->firmware_->executable),
                     "firmware");
  made->machine_->Observe(made->firmware_->entries, &made->observer_);
  return made;
}

absl::Status FirmwareMachine::SetUp() {
  EK_ASSIGN_OR_RETURN(const int32_t code, RunToExit(firmware_->setup_limit));
  if (code != 0) {
    return MakeError(absl::StatusCode::kFailedPrecondition,
                     {.reason = "FIRMWARE_FAULT",
                      .what = absl::StrCat("setup ended with code ", code),
                      .need = "0"});
  }
  setup_instructions_ = machine_->totals().instructions;
  return absl::OkStatus();
}

absl::StatusOr<InferenceCount> FirmwareMachine::Infer(
    absl::Span<const absl::string_view> inputs, const TapVisitor& visit_tap,
    std::vector<std::string>* outputs) {
  const LoadedProgram& loaded = *firmware_->loaded;
  for (size_t i = 0; i < inputs.size(); ++i) {
    EK_RETURN_IF_ERROR(
        WriteValues(loaded.inputs[i].address, *loaded.inputs[i].layout,
                    inputs[i], *machine_),
        absl::StrCat("input ", i));
  }
  const rv32::Totals before = machine_->totals();
  machine_->set_pc(firmware_->run);
  observer_.Begin(&visit_tap, before);
  if (recorder_.has_value()) recorder_->Begin(*machine_);
  EK_ASSIGN_OR_RETURN(const int32_t code,
                      RunToExit(firmware_->inference_limit));
  if (code != 0) return ExitError(code);
  EK_RETURN_IF_ERROR(observer_.End(*machine_));
  if (recorder_.has_value()) {
    FirmwareProfile profile = recorder_->End(*machine_);
    profile.isa = firmware_->config.isa;
    profile.executable = firmware_->executable;
    profile_ = std::make_shared<FirmwareProfile>(std::move(profile));
  }
  outputs->clear();
  std::string buffer;
  for (size_t i = 0; i < loaded.outputs.size(); ++i) {
    EK_ASSIGN_OR_RETURN(
        const absl::string_view values,
        ReadValues(loaded.outputs[i].address, *loaded.outputs[i].layout,
                   absl::StrCat("output ", i), *machine_, buffer));
    outputs->emplace_back(values);
  }
  const rv32::Totals after = machine_->totals();
  return InferenceCount{
      .instructions = after.instructions - before.instructions,
      .cycles = after.cycles - before.cycles,
      .layer_cycles = observer_.layer_cycles()};
}

absl::StatusOr<int32_t> FirmwareMachine::RunToExit(int64_t max_instructions) {
  exit_.Clear();
  EK_ASSIGN_OR_RETURN(const rv32::RunResult result,
                      machine_->Run(max_instructions));
  switch (result.reason) {
    case rv32::ExitReason::kExited:
      return result.exit_code;
    case rv32::ExitReason::kInstructionLimit:
      return LimitError(max_instructions);
    case rv32::ExitReason::kFault:
      break;
  }
  return ErrorOf(*result.fault);
}

absl::Status FirmwareMachine::ErrorOf(const rv32::Fault& fault) const {
  absl::Status error = rv32::FaultError(fault);
  if (fault.kind == rv32::FaultKind::kStackOverflow) {
    ErrorDetail detail = GetErrorDetail(error).value_or(ErrorDetail());
    detail.reason = "STACK_OVERFLOW";
    detail.fix = "use a target with a larger stack_bytes";
    detail.limit = absl::StrCat(
        firmware_->loaded->program.firmware().stack_bytes(), " bytes of stack");
    error = MakeError(error.code(), std::move(detail));
  }
  return Annotate(error, observer_.Where());
}

absl::Status FirmwareMachine::LimitError(int64_t max_instructions) const {
  const uint32_t pc = machine_->registers().pc;
  const rv32::Function* const function = symbols_.Find(pc);
  const std::string name =
      function == nullptr ? ""
                          : absl::StrCat("function ", function->name, ", ");
  return Annotate(
      MakeError(absl::StatusCode::kFailedPrecondition,
                {.reason = "FIRMWARE_FAULT",
                 .what = "the firmware does not end",
                 .where = absl::StrCat(name, absl::StrFormat("pc 0x%08x", pc)),
                 .limit = absl::StrCat(max_instructions, " instructions")}),
      observer_.Where());
}

absl::Status FirmwareMachine::ExitError(int32_t code) const {
  const v1::Program& program = firmware_->loaded->program;
  if (code > program.layers_size()) {
    return MakeError(absl::StatusCode::kFailedPrecondition,
                     {.reason = "FIRMWARE_FAULT",
                      .what = absl::StrCat("the run ended with code ", code),
                      .limit = absl::StrCat(program.layers_size(), " layers")});
  }
  return MakeError(
      absl::StatusCode::kInvalidArgument,
      {.reason = "INDEX_RANGE",
       .what = "an index is out of range",
       .where = absl::StrCat("layer ", program.layers(code - 1).id()),
       .fix = "give data whose indices lie in range"});
}

}  // namespace edgekiln::simfarm
