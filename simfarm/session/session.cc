#include "simfarm/session/session.h"

#include <cstring>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "simfarm/session/loaded_program.h"

namespace edgekiln::simfarm {
namespace {

// Not a value that a forgotten write leaves behind by chance.
constexpr uint8_t kPoison = 0xa5;

class SimulatedSession : public Session {
 public:
  // A program that was loaded without constants can be checked, not run.
  explicit SimulatedSession(std::shared_ptr<const LoadedProgram> loaded)
      : loaded_(std::move(loaded)) {
    const v1::Machine& machine = loaded_->machine;
    memories_.resize(machine.memories_size());
    for (size_t m = 0; m < loaded_->fixed.size(); ++m) {
      if (!IsFlash(static_cast<int>(m))) {
        memories_[m] = LazyBytes(loaded_->used_bytes[m]);
      }
    }
  }

  absl::Status CheckOnly() {
    SystemMemory memory = MapSystem();
    memory.TrackDefined();
    LoadSegments(memory, RunMode::kCheckOnly);
    MarkInputs(memory);
    EK_RETURN_IF_ERROR(RunSteps(nullptr, memory, RunMode::kCheckOnly));
    return CheckOutputs(memory);
  }

  absl::StatusOr<v1::SimReport> RunChecked(
      absl::Span<const absl::string_view> inputs, const TapVisitor& visit_tap,
      std::vector<std::string>* outputs) override {
    for (LazyBytes& memory : memories_) {
      if (memory.size() > 0) std::memset(memory.data(), kPoison, memory.size());
    }
    SystemMemory memory = MapSystem();
    memory.TrackDefined();
    EK_RETURN_IF_ERROR(
        Execute(inputs, visit_tap, memory, RunMode::kChecked, outputs));
    return loaded_->report;
  }

  absl::Status Run(absl::Span<const absl::string_view> inputs,
                   const TapVisitor& visit_tap,
                   std::vector<std::string>* outputs) override {
    SystemMemory memory = MapSystem();
    return Execute(inputs, visit_tap, memory, RunMode::kFast, outputs);
  }

  const v1::SimReport& report() const override { return loaded_->report; }

  std::unique_ptr<Session> Clone() const override {
    return std::make_unique<SimulatedSession>(loaded_);
  }

 private:
  SystemMemory MapSystem() {
    SystemMemory memory;
    for (int32_t m = 0; m < loaded_->machine.memories_size(); ++m) {
      if (!loaded_->IsSystem(m) || loaded_->used_bytes[m] == 0) continue;
      uint8_t* bytes = memories_[m].data();
      if (IsFlash(m) && !loaded_->fixed.empty()) {
        bytes = loaded_->fixed[m].data();
      }
      memory.AddRegion(loaded_->machine.memories(m).base_address(), bytes,
                       loaded_->used_bytes[m],
                       IsFlash(m) ? SystemMemory::Access::kReadOnly
                                  : SystemMemory::Access::kReadWrite);
    }
    return memory;
  }

  bool IsFlash(int32_t memory) const {
    return loaded_->machine.memories(memory).kind() ==
           v1::MemoryDescriptor::FLASH;
  }

  absl::Status Execute(absl::Span<const absl::string_view> inputs,
                       const TapVisitor& visit_tap, SystemMemory& memory,
                       RunMode mode, std::vector<std::string>* outputs) {
    LoadSegments(memory, mode);
    EK_RETURN_IF_ERROR(SetInputs(inputs, memory));
    MarkInputs(memory);
    EK_RETURN_IF_ERROR(RunSteps(visit_tap, memory, mode));
    EK_RETURN_IF_ERROR(CheckOutputs(memory));
    GetOutputs(memory, outputs);
    return absl::OkStatus();
  }

  absl::Status RunSteps(const TapVisitor& visit_tap, SystemMemory& memory,
                        RunMode mode) {
    for (size_t i = 0; i < loaded_->steps.size(); ++i) {
      EK_RETURN_IF_ERROR(
          ExecuteStep(static_cast<int>(i), visit_tap, memory, mode),
          absl::StrCat("step ", i));
    }
    return absl::OkStatus();
  }

  // Flash already holds its content; RAM starts anew in every run.
  void LoadSegments(SystemMemory& memory, RunMode mode) {
    for (const v1::Program::Segment& segment : loaded_->program.segments()) {
      const uint64_t address = segment.location().address();
      if (mode != RunMode::kCheckOnly && memory.IsWritable(address)) {
        std::memcpy(memory.Find(address, segment.size_bytes()),
                    loaded_->constants.data() + segment.blob_offset(),
                    segment.size_bytes());
      }
      memory.MarkDefined(address, segment.size_bytes());
    }
  }

  absl::Status SetInputs(absl::Span<const absl::string_view> inputs,
                         SystemMemory& memory) {
    if (inputs.size() != loaded_->inputs.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("the program has ", loaded_->inputs.size(),
                       " inputs, not ", inputs.size()));
    }
    for (size_t i = 0; i < inputs.size(); ++i) {
      const LoadedBinding& input = loaded_->inputs[i];
      const int64_t bytes = input.layout->dense_bytes();
      if (static_cast<int64_t>(inputs[i].size()) != bytes) {
        return absl::InvalidArgumentError(absl::StrCat(
            "input ", i, " has ", bytes, " bytes, not ", inputs[i].size()));
      }
      if (bytes == 0) continue;
      input.layout->Scatter(inputs[i].data(), BytesOf(input, memory));
    }
    return absl::OkStatus();
  }

  void MarkInputs(SystemMemory& memory) {
    for (const LoadedBinding& input : loaded_->inputs) {
      input.layout->VisitRuns([&](const target::Layout::Run& run) {
        memory.MarkDefined(input.address + run.offset, run.bytes);
        return true;
      });
    }
  }

  absl::Status CheckOutputs(const SystemMemory& memory) const {
    for (size_t i = 0; i < loaded_->outputs.size(); ++i) {
      const LoadedBinding& output = loaded_->outputs[i];
      EK_RETURN_IF_ERROR(CheckDefined(
          memory, output.address, *output.layout,
          absl::StrCat(
              "output ",
              loaded_->program.outputs(static_cast<int>(i)).type().name())));
    }
    return absl::OkStatus();
  }

  void GetOutputs(const SystemMemory& memory,
                  std::vector<std::string>* outputs) const {
    outputs->clear();
    for (const LoadedBinding& output : loaded_->outputs) {
      std::string& value = outputs->emplace_back();
      if (output.layout->dense_bytes() == 0) continue;
      value.resize(output.layout->dense_bytes());
      output.layout->Gather(BytesOf(output, memory), value.data());
    }
  }

  static char* BytesOf(const LoadedBinding& binding,
                       const SystemMemory& memory) {
    return reinterpret_cast<char*>(
        memory.Find(binding.address, binding.layout->size_bytes()));
  }

  static absl::Status CheckDefined(const SystemMemory& memory, uint64_t address,
                                   const target::Layout& layout,
                                   const std::string& what) {
    absl::Status status;
    layout.VisitRuns([&](const target::Layout::Run& run) {
      status = CheckDefined(memory, address + run.offset, run.bytes, what);
      return status.ok();
    });
    return status;
  }

  static absl::Status CheckDefined(const SystemMemory& memory, uint64_t address,
                                   int64_t bytes, const std::string& what) {
    const int64_t hole = memory.FindUndefined(address, bytes);
    if (hole < 0) return absl::OkStatus();
    return InvalidProgram(
        "a byte that nothing wrote is read",
        absl::StrFormat("%s, system memory 0x%x", what, address + hole));
  }

  absl::Status ExecuteStep(int index, const TapVisitor& visit_tap,
                           SystemMemory& memory, RunMode mode) {
    const v1::Program::Step& step = loaded_->program.steps(index);
    const LoadedStep& loaded = loaded_->steps[index];
    if (step.has_launch()) {
      const int32_t stream = step.launch().stream();
      EK_RETURN_IF_ERROR(
          ExecuteStream(loaded_->streams[stream], visit_tap, memory, mode),
          absl::StrCat("stream ", stream));
    } else if (step.has_host_op()) {
      EK_RETURN_IF_ERROR(
          ExecuteHostOp(step.host_op(), *loaded.host_op, memory, mode));
    } else if (step.has_copy()) {
      EK_RETURN_IF_ERROR(ExecuteCopy(step.copy(), memory, mode));
    }
    for (const LoadedTap& tap : loaded.taps) {
      EK_RETURN_IF_ERROR(VisitSystemTap(tap, visit_tap, memory, mode));
    }
    return absl::OkStatus();
  }

  absl::Status ExecuteHostOp(const v1::Program::HostOp& op, const HostOp& host,
                             SystemMemory& memory, RunMode mode) {
    const std::string& layer = loaded_->program.layers(op.layer()).id();
    for (const HostOp::Operand& input : host.inputs()) {
      EK_RETURN_IF_ERROR(CheckDefined(memory, input.address, input.bytes,
                                      absl::StrCat("layer ", layer)));
    }
    if (mode != RunMode::kCheckOnly) {
      EK_RETURN_IF_ERROR(host.Run(memory, loaded_->options.cpu_path),
                         absl::StrCat("layer ", layer));
    }
    for (const HostOp::Operand& output : host.outputs()) {
      memory.MarkDefined(output.address, output.bytes);
    }
    return absl::OkStatus();
  }

  absl::Status ExecuteCopy(const v1::Program::Copy& copy, SystemMemory& memory,
                           RunMode mode) {
    EK_RETURN_IF_ERROR(
        CheckDefined(memory, copy.from().address(), copy.bytes(), "copy"));
    if (mode != RunMode::kCheckOnly) {
      std::memmove(memory.Find(copy.to().address(), copy.bytes()),
                   memory.Find(copy.from().address(), copy.bytes()),
                   copy.bytes());
    }
    memory.MarkDefined(copy.to().address(), copy.bytes());
    return absl::OkStatus();
  }

  absl::Status ExecuteStream(const LoadedStream& stream,
                             const TapVisitor& visit_tap, SystemMemory& memory,
                             RunMode mode) {
    const int32_t scratchpad =
        loaded_->machine.engines(stream.engine).scratchpad();
    const uint64_t base = loaded_->machine.memories(scratchpad).base_address();
    uint8_t* bytes = memories_[scratchpad].data();
    const std::unique_ptr<StreamRun> run =
        stream.stream->Start(bytes, memory, mode);
    for (const LoadedTap& tap : stream.taps) {
      EK_RETURN_IF_ERROR(run->RunUntil(tap.tap->command() + 1));
      if (loaded_->IsSystem(tap.tap->location().memory())) {
        EK_RETURN_IF_ERROR(VisitSystemTap(tap, visit_tap, memory, mode));
        continue;
      }
      const int64_t offset =
          static_cast<int64_t>(tap.tap->location().address() - base);
      if (mode != RunMode::kFast) {
        EK_RETURN_IF_ERROR(CheckScratchpadTap(tap, offset, *run));
      }
      if (!visit_tap) continue;
      EK_RETURN_IF_ERROR(Visit(tap, bytes + offset, visit_tap));
    }
    return run->RunUntil(stream.stream->num_words());
  }

  absl::Status CheckScratchpadTap(const LoadedTap& tap, int64_t offset,
                                  const StreamRun& run) {
    int64_t hole = -1;
    tap.layout->VisitRuns([&](const target::Layout::Run& bytes) {
      const int64_t at = offset + bytes.offset;
      const int64_t undefined = run.FindUndefined(at, bytes.bytes);
      if (undefined >= 0) hole = at + undefined;
      return undefined < 0;
    });
    if (hole < 0) return absl::OkStatus();
    return InvalidProgram(
        "a tap shows a byte that nothing wrote",
        absl::StrFormat("command %d, scratchpad 0x%x, tensor %d",
                        tap.tap->command(), hole, tap.tap->tensor()));
  }

  absl::Status VisitSystemTap(const LoadedTap& tap, const TapVisitor& visit_tap,
                              const SystemMemory& memory, RunMode mode) {
    const uint64_t address = tap.tap->location().address();
    if (mode != RunMode::kFast) {
      EK_RETURN_IF_ERROR(CheckDefined(memory, address, *tap.layout, "tap"));
    }
    if (!visit_tap) return absl::OkStatus();
    return Visit(tap, memory.Find(address, tap.layout->size_bytes()),
                 visit_tap);
  }

  absl::Status Visit(const LoadedTap& tap, const uint8_t* bytes,
                     const TapVisitor& visit_tap) {
    return visit_tap(
        *tap.tap,
        tap.layout->View(reinterpret_cast<const char*>(bytes), packed_));
  }

  std::shared_ptr<const LoadedProgram> loaded_;
  std::vector<LazyBytes> memories_;  // What a run changes, by memory.
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
                                          const SessionOptions& options) {
  EK_ASSIGN_OR_RETURN(auto loaded,
                      LoadProgram(program, std::nullopt, machine, options));
  SimulatedSession session(loaded);
  EK_RETURN_IF_ERROR(session.CheckOnly());
  return loaded->report;
}

}  // namespace edgekiln::simfarm
