#include "simfarm/session/firmware_session.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/status_macros.h"
#include "simfarm/session/carried_states.h"
#include "simfarm/session/firmware_machine.h"
#include "simfarm/session/firmware_program.h"
#include "simfarm/session/firmware_report.h"
#include "simfarm/session/timeline.h"

namespace edgekiln::simfarm {
namespace {

class FirmwareSession : public Session {
 public:
  FirmwareSession(std::shared_ptr<const FirmwareProgram> firmware,
                  v1::SimReport report)
      : firmware_(std::move(firmware)),
        states_(*firmware_->loaded),
        report_(std::move(report)) {}

  absl::StatusOr<v1::SimReport> RunChecked(
      absl::Span<const absl::string_view> inputs, const TapVisitor& visit_tap,
      std::vector<std::string>* outputs) override {
    EK_ASSIGN_OR_RETURN(const std::vector<absl::string_view> values,
                        states_.ValuesOfInputs(inputs));
    EK_ASSIGN_OR_RETURN(const std::unique_ptr<FirmwareMachine> machine,
                        FirmwareMachine::Create(firmware_, /*checked=*/true));
    EK_RETURN_IF_ERROR(machine->SetUp());
    EK_ASSIGN_OR_RETURN(const InferenceCount count,
                        machine->Infer(values, visit_tap, outputs));
    EK_ASSIGN_OR_RETURN(
        report_,
        MakeFirmwareReport(*firmware_, count, machine->setup_instructions()));
    profile_ = machine->profile();
    EK_RETURN_IF_ERROR(Keep(count, *outputs));
    return report_;
  }

  absl::Status Run(absl::Span<const absl::string_view> inputs,
                   const TapVisitor& visit_tap,
                   std::vector<std::string>* outputs) override {
    EK_ASSIGN_OR_RETURN(const std::vector<absl::string_view> values,
                        states_.ValuesOfInputs(inputs));
    std::unique_ptr<FirmwareMachine> machine = std::move(warm_);
    if (machine == nullptr) {
      EK_ASSIGN_OR_RETURN(
          machine, FirmwareMachine::Create(firmware_, /*checked=*/false));
      EK_RETURN_IF_ERROR(machine->SetUp());
    }
    EK_ASSIGN_OR_RETURN(const InferenceCount count,
                        machine->Infer(values, visit_tap, outputs));
    warm_ = std::move(machine);
    return Keep(count, *outputs);
  }

  absl::Status VisitStart(absl::Span<const absl::string_view> inputs,
                          const MemoryVisitor& visit) override {
    EK_ASSIGN_OR_RETURN(const std::vector<absl::string_view> values,
                        states_.ValuesOfInputs(inputs));
    for (const rv32::Segment& segment : firmware_->executable.segments) {
      if (segment.bytes.empty()) continue;
      visit(MemoryAt(segment.address), segment.address, segment.bytes);
    }
    const LoadedProgram& loaded = *firmware_->loaded;
    for (size_t i = 0; i < values.size(); ++i) {
      const LoadedBinding& input = loaded.inputs[i];
      std::string bytes(input.layout->size_bytes(), '\0');
      if (!values[i].empty()) {
        input.layout->Scatter(values[i].data(), bytes.data());
      }
      visit(loaded.program.inputs(static_cast<int>(i)).location().memory(),
            input.address, bytes);
    }
    return absl::OkStatus();
  }

  const std::vector<std::string>& states() const override {
    return states_.values();
  }
  absl::Status SetStates(std::vector<std::string> values) override {
    return states_.Set(std::move(values));
  }

  const v1::SimReport& report() const override { return report_; }
  RunCount last_run() const override { return last_run_; }
  std::shared_ptr<const FirmwareProfile> profile() const override {
    return profile_;
  }

  absl::StatusOr<v1::Timeline> MakeTimeline() const override {
    if (report_.engines_size() != 0) {
      return MakeFirmwareTimeline(*firmware_, report_);
    }
    return MakeError(absl::StatusCode::kFailedPrecondition,
                     {.fault = Fault::kInfra,
                      .reason = "NOT_RUN",
                      .what = "cycles of firmware depend on data, and it has "
                              "not run",
                      .fix = "call RunChecked() first"});
  }

  std::unique_ptr<Session> Clone() const override {
    return std::make_unique<FirmwareSession>(firmware_, report_);
  }

 private:
  // Loading found that each segment lies in a memory.
  int32_t MemoryAt(uint32_t address) const {
    const v1::Machine& machine = firmware_->loaded->machine;
    int32_t m = 0;
    for (; m < machine.memories_size() - 1; ++m) {
      const v1::ResolvedMemory& memory = machine.memories(m);
      if (memory.host_reaches() && address >= memory.base_address() &&
          address - memory.base_address() <
              static_cast<uint64_t>(memory.capacity_bytes())) {
        break;
      }
    }
    return m;
  }

  absl::Status Keep(const InferenceCount& count,
                    const std::vector<std::string>& outputs) {
    const v1::Machine& machine = firmware_->loaded->machine;
    EK_ASSIGN_OR_RETURN(const int64_t cycles,
                        ConvertCycles(count.cycles, machine.host_clock_hz(),
                                      machine.clock_hz()));
    last_run_ = {.instructions = count.instructions, .cycles = cycles};
    states_.Keep(outputs);
    return absl::OkStatus();
  }

  std::shared_ptr<const FirmwareProgram> firmware_;
  CarriedStates states_;
  v1::SimReport report_;
  RunCount last_run_;
  std::shared_ptr<const FirmwareProfile> profile_;
  // Set up, without checks; null before the first Run() and after an error.
  std::unique_ptr<FirmwareMachine> warm_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Session>> LoadFirmwareSession(
    const v1::Program& program, absl::string_view elf,
    const v1::Machine& machine, const SessionOptions& options) {
  EK_ASSIGN_OR_RETURN(const std::shared_ptr<const FirmwareProgram> firmware,
                      LoadFirmware(program, elf, machine, options));
  // What does not fit the core's memories is found before the first run.
  EK_RETURN_IF_ERROR(
      FirmwareMachine::Create(firmware, /*checked=*/false).status());
  return std::make_unique<FirmwareSession>(firmware, v1::SimReport());
}

}  // namespace edgekiln::simfarm
