#include "simfarm/session/session.h"

#include <cstring>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "simfarm/session/loaded_program.h"
#include "simfarm/session/report.h"
#include "target/memories.h"

namespace edgekiln::simfarm {
namespace {

// Not a value that a forgotten write leaves behind by chance.
constexpr uint8_t kPoison = 0xa5;

class SimulatedSession : public Session {
 public:
  // A program that was loaded without constants can be checked, not run.
  explicit SimulatedSession(std::shared_ptr<const LoadedProgram> loaded)
      : loaded_(std::move(loaded)), states_(loaded_->zero_states) {
    const v1::Machine& machine = loaded_->machine;
    memories_.resize(machine.memories_size());
    for (int32_t m = 0; m < machine.memories_size(); ++m) {
      uint8_t* bytes = nullptr;
      if (!loaded_->fixed.empty()) {
        if (!IsFlash(m)) memories_[m] = LazyBytes(loaded_->used_bytes[m]);
        bytes = IsFlash(m) ? loaded_->fixed[m].data() : memories_[m].data();
      }
      chip_.Add({.name = machine.memories(m).name(),
                 .kind = KindOf(m),
                 .base = machine.memories(m).base_address(),
                 .bytes = bytes,
                 .size = loaded_->used_bytes[m]});
    }
  }

  absl::Status CheckOnly() {
    Track();
    LoadSegments(RunMode::kCheckOnly);
    MarkInputs();
    EK_RETURN_IF_ERROR(RunSteps(nullptr, RunMode::kCheckOnly));
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

  const std::vector<std::string>& states() const override { return states_; }

  absl::Status SetStates(std::vector<std::string> values) override {
    if (values.empty()) {
      states_ = loaded_->zero_states;
      return absl::OkStatus();
    }
    bool fits = values.size() == states_.size();
    for (size_t c = 0; fits && c < values.size(); ++c) {
      fits = values[c].size() == states_[c].size();
    }
    if (!fits) {
      return absl::InvalidArgumentError(
          "values do not fit the states of the program");
    }
    states_ = std::move(values);
    return absl::OkStatus();
  }

  const v1::SimReport& report() const override { return loaded_->report; }

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

  ChipMemory::Kind KindOf(int32_t memory) const {
    if (!loaded_->IsSystem(memory)) return ChipMemory::Kind::kScratchpad;
    return IsFlash(memory) ? ChipMemory::Kind::kReadOnly
                           : ChipMemory::Kind::kReadWrite;
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
    EK_RETURN_IF_ERROR(RunSteps(visit_tap, mode));
    EK_RETURN_IF_ERROR(CheckOutputs());
    GetOutputs(outputs);
    for (size_t c = 0; c < states_.size(); ++c) {
      states_[c] =
          (*outputs)[loaded_->program.carries(static_cast<int>(c)).output()];
    }
    return absl::OkStatus();
  }

  absl::Status RunSteps(const TapVisitor& visit_tap, RunMode mode) {
    for (size_t i = 0; i < loaded_->steps.size(); ++i) {
      EK_RETURN_IF_ERROR(ExecuteStep(static_cast<int>(i), visit_tap, mode),
                         absl::StrCat("step ", i));
    }
    return absl::OkStatus();
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
    if (inputs.size() != loaded_->inputs.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("the program has ", loaded_->inputs.size(),
                       " inputs, not ", inputs.size()));
    }
    for (size_t i = 0; i < inputs.size(); ++i) {
      const LoadedBinding& input = loaded_->inputs[i];
      const int64_t bytes = input.layout->dense_bytes();
      const int32_t carry = loaded_->carry_of_input[i];
      absl::string_view value = inputs[i];
      if (value.empty() && carry >= 0) value = states_[carry];
      if (static_cast<int64_t>(value.size()) != bytes) {
        return absl::InvalidArgumentError(absl::StrCat(
            "input ", i, " has ", bytes, " bytes, not ", value.size()));
      }
      if (bytes == 0) continue;
      input.layout->Scatter(value.data(), BytesOf(input));
    }
    return absl::OkStatus();
  }

  void MarkInputs() {
    for (const LoadedBinding& input : loaded_->inputs) {
      input.layout->VisitRuns([&](const target::Layout::Run& run) {
        chip_.Define(input.address + run.offset, run.bytes);
        return true;
      });
    }
  }

  absl::Status CheckOutputs() {
    for (size_t i = 0; i < loaded_->outputs.size(); ++i) {
      const LoadedBinding& output = loaded_->outputs[i];
      EK_RETURN_IF_ERROR(Read(
          kHost, output.address, *output.layout,
          absl::StrCat(
              "output ",
              loaded_->program.outputs(static_cast<int>(i)).type().name())));
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

  // Checked and recorded, if anything is: `who` touches system memory. Errors
  // name `what`.
  absl::Status Read(int32_t who, uint64_t address, const target::Layout& layout,
                    const std::string& what) {
    absl::Status status;
    layout.VisitRuns([&](const target::Layout::Run& run) {
      status = Read(who, address + run.offset, run.bytes, what);
      return status.ok();
    });
    return status;
  }

  absl::Status Read(int32_t who, uint64_t address, int64_t bytes,
                    const std::string& what) {
    AccessFault fault;
    if (chip_.Read(who, address, bytes, &fault)) return absl::OkStatus();
    return SaysWhere(fault, address, what);
  }

  absl::Status Write(int32_t who, uint64_t address, int64_t bytes,
                     const std::string& what) {
    AccessFault fault;
    if (chip_.Write(who, address, bytes, &fault)) return absl::OkStatus();
    return SaysWhere(fault, address, what);
  }

  absl::Status Write(int32_t who, uint64_t address,
                     const target::Layout& layout, const std::string& what) {
    absl::Status status;
    layout.VisitRuns([&](const target::Layout::Run& run) {
      status = Write(who, address + run.offset, run.bytes, what);
      return status.ok();
    });
    return status;
  }

  absl::Status SaysWhere(const AccessFault& fault, uint64_t address,
                         const std::string& what) const {
    return InvalidProgram(
        chip_.What(fault),
        absl::StrCat(what, ", ", chip_.Name(address + fault.at)));
  }

  absl::Status ExecuteStep(int index, const TapVisitor& visit_tap,
                           RunMode mode) {
    const v1::Program::Step& step = loaded_->program.steps(index);
    const LoadedStep& loaded = loaded_->steps[index];
    chip_.BeginStep(index);
    if (step.has_launch()) {
      const int32_t stream = step.launch().stream();
      EK_RETURN_IF_ERROR(
          ExecuteStream(loaded_->streams[stream], visit_tap, mode),
          absl::StrCat("stream ", stream));
    } else if (step.has_wait()) {
      chip_.Wait(step.wait().engine());
    } else if (step.has_host_op()) {
      EK_RETURN_IF_ERROR(ExecuteHostOp(step.host_op(), *loaded.host_op, mode));
    } else if (step.has_move()) {
      EK_RETURN_IF_ERROR(ExecuteMove(step.move(), loaded, mode));
    }
    for (const LoadedTap& tap : loaded.taps) {
      EK_RETURN_IF_ERROR(VisitSystemTap(kHost, tap, visit_tap, mode));
    }
    return absl::OkStatus();
  }

  absl::Status ExecuteHostOp(const v1::Program::HostOp& op, const HostOp& host,
                             RunMode mode) {
    const std::string what =
        absl::StrCat("layer ", loaded_->program.layers(op.layer()).id());
    for (const HostOp::Operand& input : host.inputs()) {
      EK_RETURN_IF_ERROR(Read(kHost, input.address, input.bytes, what));
    }
    for (const HostOp::Operand& output : host.outputs()) {
      EK_RETURN_IF_ERROR(Write(kHost, output.address, output.bytes, what));
    }
    if (mode == RunMode::kCheckOnly) return absl::OkStatus();
    EK_RETURN_IF_ERROR(host.Run(chip_, loaded_->options.cpu_path), what);
    return absl::OkStatus();
  }

  absl::Status ExecuteMove(const v1::Program::Move& move,
                           const LoadedStep& loaded, RunMode mode) {
    const target::Layout& from = *loaded.from_layout;
    const target::Layout& to = *loaded.to_layout;
    EK_RETURN_IF_ERROR(Read(kHost, move.from().address(), from, "move"));
    EK_RETURN_IF_ERROR(Write(kHost, move.to().address(), to, "move"));
    if (mode == RunMode::kCheckOnly) return absl::OkStatus();
    const auto* const source = reinterpret_cast<const char*>(
        chip_.Find(move.from().address(), from.size_bytes()));
    const absl::string_view dense = from.View(source, packed_);
    auto* const target = reinterpret_cast<char*>(
        chip_.Find(move.to().address(), to.size_bytes()));
    to.Scatter(dense.data(), target);
    return absl::OkStatus();
  }

  absl::Status ExecuteStream(const LoadedStream& stream,
                             const TapVisitor& visit_tap, RunMode mode) {
    const int32_t scratchpad =
        target::PrivateMemoryOf(loaded_->machine, stream.engine);
    const uint64_t base = loaded_->machine.memories(scratchpad).base_address();
    const uint8_t* bytes = chip_.scratchpad(scratchpad);
    chip_.Launch(stream.engine);
    const std::unique_ptr<StreamRun> run = stream.stream->Start(chip_, mode);
    for (const LoadedTap& tap : stream.taps) {
      EK_RETURN_IF_ERROR(run->RunUntil(tap.tap->command() + 1));
      if (loaded_->IsSystem(tap.tap->location().memory())) {
        EK_RETURN_IF_ERROR(VisitSystemTap(stream.engine, tap, visit_tap, mode));
        continue;
      }
      const int64_t offset =
          static_cast<int64_t>(tap.tap->location().address() - base);
      if (mode != RunMode::kFast) {
        EK_RETURN_IF_ERROR(CheckScratchpadTap(tap, offset));
      }
      if (!visit_tap) continue;
      EK_RETURN_IF_ERROR(Visit(tap, bytes + offset, visit_tap));
    }
    return run->RunUntil(stream.stream->num_words());
  }

  absl::Status CheckScratchpadTap(const LoadedTap& tap, int64_t offset) {
    int64_t hole = -1;
    tap.layout->VisitRuns([&](const target::Layout::Run& bytes) {
      const int64_t at = offset + bytes.offset;
      hole = chip_.FindUndefined(tap.tap->location().memory(), at,
                                 at + bytes.bytes);
      return hole < 0;
    });
    if (hole < 0) return absl::OkStatus();
    return InvalidProgram(
        "a tap shows a byte that nothing wrote",
        absl::StrFormat("command %d, scratchpad 0x%x, tensor %d",
                        tap.tap->command(), hole, tap.tap->tensor()));
  }

  // `who` sees what the tap shows.
  absl::Status VisitSystemTap(int32_t who, const LoadedTap& tap,
                              const TapVisitor& visit_tap, RunMode mode) {
    const uint64_t address = tap.tap->location().address();
    if (mode != RunMode::kFast) {
      EK_RETURN_IF_ERROR(Read(who, address, *tap.layout, "tap"));
    }
    if (!visit_tap) return absl::OkStatus();
    return Visit(tap, chip_.Find(address, tap.layout->size_bytes()), visit_tap);
  }

  absl::Status Visit(const LoadedTap& tap, const uint8_t* bytes,
                     const TapVisitor& visit_tap) {
    return visit_tap(
        *tap.tap,
        tap.layout->View(reinterpret_cast<const char*>(bytes), packed_));
  }

  std::shared_ptr<const LoadedProgram> loaded_;
  std::vector<std::string> states_;  // As program.carries.
  std::vector<LazyBytes> memories_;  // What a run changes, by memory.
  ChipMemory chip_;
  std::string packed_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Session>> LoadSession(
    const v1::Program& program, absl::string_view constants,
    const v1::Machine& machine, const SessionOptions& options) {
  EK_ASSIGN_OR_RETURN(auto loaded,
                      LoadProgram(program, constants, machine, options));
  return std::make_unique<SimulatedSession>(std::move(loaded));
}

absl::StatusOr<v1::SimReport> CountCycles(const v1::Program& program,
                                          const v1::Machine& machine,
                                          const SessionOptions& options,
                                          v1::Timeline* timeline) {
  EK_ASSIGN_OR_RETURN(auto loaded,
                      LoadProgram(program, std::nullopt, machine, options));
  SimulatedSession session(loaded);
  EK_RETURN_IF_ERROR(session.CheckOnly());
  if (timeline != nullptr) {
    EK_ASSIGN_OR_RETURN(*timeline, session.MakeTimeline());
  }
  return loaded->report;
}

}  // namespace edgekiln::simfarm
