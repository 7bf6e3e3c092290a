#include "simfarm/session/session.h"

#include <cstring>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "simfarm/session/carried_states.h"
#include "simfarm/session/firmware_session.h"
#include "simfarm/session/loaded_program.h"
#include "simfarm/session/report.h"
#include "simfarm/session/simulators.h"
#include "simfarm/session/step_runner.h"
#include "target/memories.h"
#include "target/validate_machine.h"

namespace edgekiln::simfarm {
namespace {

// Not a value that a forgotten write leaves behind by chance.
constexpr uint8_t kPoison = 0xa5;

class SimulatedSession : public Session {
 public:
  // A program that was loaded without constants can be checked, not run.
  explicit SimulatedSession(std::shared_ptr<const LoadedProgram> loaded)
      : loaded_(std::move(loaded)),
        states_(*loaded_),
        memories_(loaded_->used_bytes.size()),
        steps_(*loaded_, chip_) {
    loaded_->AddMemories(loaded_->used_bytes, chip_);
    if (loaded_->fixed.empty()) return;
    for (int32_t m = 0; m < loaded_->machine.memories_size(); ++m) {
      if (IsFlash(m)) {
        chip_.SetBytes(m, loaded_->fixed[m].data());
        continue;
      }
      memories_[m] = LazyBytes(loaded_->used_bytes[m]);
      chip_.SetBytes(m, memories_[m].data());
    }
  }

  absl::Status CheckOnly() {
    Track();
    LoadSegments(RunMode::kCheckOnly);
    MarkInputs();
    EK_RETURN_IF_ERROR(steps_.Run(nullptr, RunMode::kCheckOnly));
    return CheckOutputs();
  }

  absl::StatusOr<v1::SimReport> RunChecked(
      absl::Span<const absl::string_view> inputs, const TapVisitor& visit_tap,
      std::vector<std::string>* outputs) override {
    for (LazyBytes& memory : memories_) {
      if (memory.size() > 0) std::memset(memory.data(), kPoison, memory.size());
    }
    Track();
    const absl::Status status =
        Execute(inputs, visit_tap, RunMode::kChecked, outputs);
    chip_.StopTracking();
    EK_RETURN_IF_ERROR(status);
    return loaded_->report;
  }

  absl::Status Run(absl::Span<const absl::string_view> inputs,
                   const TapVisitor& visit_tap,
                   std::vector<std::string>* outputs) override {
    return Execute(inputs, visit_tap, RunMode::kFast, outputs);
  }

  absl::Status VisitStart(absl::Span<const absl::string_view> inputs,
                          const MemoryVisitor& visit) override {
    LoadSegments(RunMode::kFast);
    EK_RETURN_IF_ERROR(SetInputs(inputs));
    for (const v1::Program::Segment& segment : loaded_->program.segments()) {
      const v1::Location& location = segment.location();
      visit(location.memory(), location.address(),
            BytesAt(location.address(), segment.size_bytes()));
    }
    for (size_t i = 0; i < loaded_->inputs.size(); ++i) {
      const v1::Location& location =
          loaded_->program.inputs(static_cast<int>(i)).location();
      visit(
          location.memory(), location.address(),
          BytesAt(location.address(), loaded_->inputs[i].layout->size_bytes()));
    }
    return absl::OkStatus();
  }

  const std::vector<std::string>& states() const override {
    return states_.values();
  }

  absl::Status SetStates(std::vector<std::string> values) override {
    return states_.Set(std::move(values));
  }

  const v1::SimReport& report() const override { return loaded_->report; }

  RunCount last_run() const override { return last_run_; }

  absl::StatusOr<v1::Timeline> MakeTimeline() const override {
    return simfarm::MakeTimeline(*loaded_);
  }

  std::unique_ptr<Session> Clone() const override {
    return std::make_unique<SimulatedSession>(loaded_);
  }

 private:
  bool IsFlash(int32_t memory) const {
    return !target::IsWritable(loaded_->machine.memories(memory));
  }

  void Track() {
    std::vector<std::string> engines;
    for (const v1::Machine::Engine& engine : loaded_->machine.engines()) {
      engines.push_back(engine.name());
    }
    chip_.Track(std::move(engines), loaded_->concurrent);
  }

  absl::Status Execute(absl::Span<const absl::string_view> inputs,
                       const TapVisitor& visit_tap, RunMode mode,
                       std::vector<std::string>* outputs) {
    LoadSegments(mode);
    EK_RETURN_IF_ERROR(SetInputs(inputs));
    MarkInputs();
    EK_RETURN_IF_ERROR(steps_.Run(visit_tap, mode));
    EK_RETURN_IF_ERROR(CheckOutputs());
    GetOutputs(outputs);
    states_.Keep(*outputs);
    last_run_.cycles = loaded_->report.cycles();
    return absl::OkStatus();
  }

  absl::string_view BytesAt(uint64_t address, int64_t size) const {
    return {reinterpret_cast<const char*>(chip_.Find(address, size)),
            static_cast<size_t>(size)};
  }

  // Flash already holds its content; RAM starts anew in every run.
  void LoadSegments(RunMode mode) {
    for (const v1::Program::Segment& segment : loaded_->program.segments()) {
      const uint64_t address = segment.location().address();
      if (mode != RunMode::kCheckOnly && chip_.IsWritable(address)) {
        std::memcpy(chip_.Find(address, segment.size_bytes()),
                    loaded_->constants.data() + segment.blob_offset(),
                    segment.size_bytes());
      }
      chip_.Define(address, segment.size_bytes());
    }
  }

  absl::Status SetInputs(absl::Span<const absl::string_view> inputs) {
    EK_ASSIGN_OR_RETURN(const std::vector<absl::string_view> values,
                        states_.ValuesOfInputs(inputs));
    for (size_t i = 0; i < values.size(); ++i) {
      if (values[i].empty()) continue;
      const LoadedBinding& input = loaded_->inputs[i];
      input.layout->Scatter(values[i].data(), BytesOf(input));
    }
    return absl::OkStatus();
  }

  void MarkInputs() {
    for (const LoadedBinding& input : loaded_->inputs) {
      input.layout->VisitTaken([&](int64_t offset, int64_t bytes) {
        chip_.Define(input.address + offset, bytes);
        return true;
      });
    }
  }

  absl::Status CheckOutputs() {
    for (size_t i = 0; i < loaded_->outputs.size(); ++i) {
      const LoadedBinding& output = loaded_->outputs[i];
      const v1::Program::Binding& binding =
          loaded_->program.outputs(static_cast<int>(i));
      EK_RETURN_IF_ERROR(
          steps_.Read(kHost, binding.location(), *output.layout,
                      absl::StrCat("output ", binding.type().name())));
    }
    return absl::OkStatus();
  }

  void GetOutputs(std::vector<std::string>* outputs) const {
    outputs->clear();
    for (const LoadedBinding& output : loaded_->outputs) {
      std::string& value = outputs->emplace_back();
      if (output.layout->dense_bytes() == 0) continue;
      value.resize(output.layout->dense_bytes());
      output.layout->Gather(BytesOf(output), value.data());
    }
  }

  char* BytesOf(const LoadedBinding& binding) const {
    return reinterpret_cast<char*>(
        chip_.Find(binding.address, binding.layout->size_bytes()));
  }

  std::shared_ptr<const LoadedProgram> loaded_;
  CarriedStates states_;
  RunCount last_run_;
  std::vector<LazyBytes> memories_;  // What a run changes, by memory.
  ChipMemory chip_;
  StepRunner steps_;
};

// Loads what comes from outside.
absl::StatusOr<std::shared_ptr<const LoadedProgram>> LoadOnMachine(
    v1::Program program, std::optional<absl::string_view> constants,
    std::shared_ptr<const v1::Machine> machine, const SessionOptions& options) {
  EK_RETURN_IF_ERROR(target::ValidateMachine(*machine), "machine");
  return LoadProgram(std::move(program), constants, std::move(machine), options,
                     NewSimulator);
}

}  // namespace

std::unique_ptr<Session> NewSession(
    std::shared_ptr<const LoadedProgram> loaded) {
  return std::make_unique<SimulatedSession>(std::move(loaded));
}

absl::Status CheckWithoutRun(std::shared_ptr<const LoadedProgram> loaded) {
  return SimulatedSession(std::move(loaded)).CheckOnly();
}

absl::StatusOr<std::unique_ptr<Session>> LoadSession(
    const v1::Program& program, absl::string_view constants,
    const v1::Machine& machine, const SessionOptions& options) {
  if (program.has_firmware()) {
    EK_RETURN_IF_ERROR(target::ValidateMachine(machine), "machine");
    return LoadFirmwareSession(program, constants, machine, options);
  }
  EK_ASSIGN_OR_RETURN(
      auto loaded,
      LoadOnMachine(program, constants,
                    std::make_shared<const v1::Machine>(machine), options));
  return NewSession(std::move(loaded));
}

absl::StatusOr<v1::SimReport> CountCycles(v1::Program program,
                                          const v1::Machine& machine,
                                          const SessionOptions& options,
                                          v1::Timeline* timeline) {
  if (program.has_firmware()) {
    return MakeError(absl::StatusCode::kFailedPrecondition,
                     {.fault = Fault::kInfra,
                      .reason = "PROGRAM_INVALID",
                      .what = "cycles of firmware depend on data",
                      .fix = "load a session and run it"});
  }
  EK_ASSIGN_OR_RETURN(
      const auto loaded,
      LoadOnMachine(
          std::move(program), std::nullopt,
          // The program is dropped before the machine is.
          std::shared_ptr<const v1::Machine>(std::shared_ptr<void>(), &machine),
          options));
  EK_RETURN_IF_ERROR(CheckWithoutRun(loaded));
  if (timeline != nullptr) {
    EK_ASSIGN_OR_RETURN(*timeline, MakeTimeline(*loaded));
  }
  return loaded->report;
}

}  // namespace edgekiln::simfarm
