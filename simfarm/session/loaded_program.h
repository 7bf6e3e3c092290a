#ifndef EK_SIMFARM_SESSION_LOADED_PROGRAM_H_
#define EK_SIMFARM_SESSION_LOADED_PROGRAM_H_

// A program that passed every check that needs no run: what sessions share.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "edgekiln/v1/program.pb.h"
#include "edgekiln/v1/target.pb.h"
#include "simfarm/host/host_op.h"
#include "simfarm/session/session.h"
#include "simfarm/session/simulators.h"
#include "simfarm/simulators/chip_memory.h"
#include "simfarm/simulators/engine.h"
#include "simfarm/simulators/engine_stream.h"
#include "simfarm/simulators/lazy_bytes.h"
#include "target/layout.h"
#include "target/register_transfers.h"

namespace edgekiln::simfarm {

struct LoadedTap {
  const v1::Program::Tap* tap = nullptr;
  const target::Layout* layout = nullptr;
};

// An input or output. Nothing lies anywhere if it has no elements.
struct LoadedBinding {
  uint64_t address = 0;
  const target::Layout* layout = nullptr;
};

// A range of a stream's commands, launched as if it were a stream of its own.
struct LoadedStream {
  std::unique_ptr<EngineStream> stream;
  int32_t engine = 0;
  int32_t program_stream = 0;          // Index into program.streams.
  int32_t first_word = 0;              // There.
  std::vector<int32_t> layer_of_word;  // -1: none.
  std::vector<LoadedTap> taps;         // By command, then as listed.

  int32_t WordOf(const LoadedTap& tap) const {
    return tap.tap->command() - first_word;
  }
  // For errors.
  std::string name;
};

struct LoadedStep {
  std::optional<HostOp> host_op;  // If the step is one.
  // Of a host op, a move or register writes, in the host's clock.
  int64_t host_cycles = 0;
  int32_t stream = -1;  // Of a launch: index into LoadedProgram.streams.
  // Of a move.
  const target::Layout* from_layout = nullptr;
  const target::Layout* to_layout = nullptr;
  // Of a move over a link that registers start: see TransferValues().
  std::vector<uint32_t> transfer_values;
  // Register writes: cycles of the job that they start, in the engine's clock,
  // and when it starts, in host cycles from the step's begin. Polls: whether it
  // sees a job's end.
  std::optional<int64_t> job_cycles;
  int64_t job_start_cycles = 0;
  bool sees_end = false;
  std::vector<LoadedTap> taps;  // Visible after the step.
};

// Immutable once loaded. Members refer to `program`, so it is neither copied
// nor moved.
struct LoadedProgram {
  explicit LoadedProgram(std::shared_ptr<const v1::Machine> chip)
      : shared_machine(std::move(chip)), machine(*shared_machine) {}
  LoadedProgram(const LoadedProgram&) = delete;
  LoadedProgram& operator=(const LoadedProgram&) = delete;

  v1::Program program;
  const std::shared_ptr<const v1::Machine> shared_machine;
  const v1::Machine& machine;  // That one.
  SessionOptions options;
  std::string constants;  // Empty unless a run loads some of it anew.
  // By engine; null where the program uses none.
  std::vector<std::unique_ptr<EngineSimulator>> simulators;
  // By engine; once moves need them.
  std::vector<std::optional<target::RegisterTransfers>> transfers;
  // One per launched range, and one per stream that is never launched.
  std::vector<LoadedStream> streams;
  // As program.steps; of firmware, which has none, as program.layers.
  std::vector<LoadedStep> steps;
  std::vector<target::Layout> layouts;  // As program.layouts.
  std::vector<LoadedBinding> inputs;
  std::vector<LoadedBinding> outputs;
  std::vector<int32_t> carry_of_input;   // By input; -1: none.
  std::vector<std::string> zero_states;  // As program.carries: real zero.
  std::vector<ChipMemory::Kind> kinds;   // By memory.
  // By memory: bytes from its base that the program reaches.
  std::vector<int64_t> used_bytes;
  // By memory: content that no run changes (flash).
  std::vector<LazyBytes> fixed;
  // Something happens while an engine runs, besides that engine.
  bool concurrent = false;
  v1::SimReport report;

  // INVALID_ARGUMENT if the program has no layout `index`.
  absl::StatusOr<const target::Layout*> FindLayout(int32_t index) const;
  bool IsSystem(int32_t memory) const {
    return machine.memories(memory).host_reaches();
  }
  bool IsScratchpad(int32_t memory) const {
    return kinds[memory] == ChipMemory::Kind::kScratchpad;
  }
  // From the first byte of its memory.
  int64_t OffsetOf(const v1::Location& location) const;
  // Adds the machine's memories to `chip`, by their kinds, without bytes.
  void AddMemories(const std::vector<int64_t>& sizes, ChipMemory& chip) const;
  // For errors of register writes or a poll: "engine npu, layer conv1".
  std::string NameRegisters(int32_t engine, int32_t layer) const;
  // Makes the engine's simulator unless it is there. INVALID_ARGUMENT if there
  // is no such engine, or no simulator of its model.
  absl::Status NeedSimulator(int32_t engine, SimulatorMaker new_simulator);
  // Checks that [address, address + bytes) lies in `memory`, and notes that the
  // program reaches it. INVALID_ARGUMENT names `what`.
  absl::Status Reserve(int32_t memory, uint64_t address, int64_t bytes,
                       absl::string_view what);
  // The same for system memory only; writable unless it is `read_only`.
  absl::Status ReserveSystem(const v1::Location& location, int64_t bytes,
                             bool written, absl::string_view what);
};

// What programs of every kind have: checks the counts, then loads layouts,
// inputs, outputs and carries. `machine` passed ValidateMachine().
absl::StatusOr<std::shared_ptr<LoadedProgram>> LoadInterface(
    v1::Program program, std::shared_ptr<const v1::Machine> machine,
    const SessionOptions& options);

// Parts of loading, in this order; each relies on those before, LoadCarries()
// on inputs and outputs.
absl::Status LoadCarries(LoadedProgram* loaded);
absl::Status LoadStreams(LoadedProgram* loaded, SimulatorMaker new_simulator);
absl::Status LoadTaps(LoadedProgram* loaded);
absl::Status LoadSteps(LoadedProgram* loaded, SimulatorMaker new_simulator);

// Loads the whole program. `machine` passed ValidateMachine(). Without
// constants the program can be checked and timed, but not run.
absl::StatusOr<std::shared_ptr<const LoadedProgram>> LoadProgram(
    v1::Program program, std::optional<absl::string_view> constants,
    std::shared_ptr<const v1::Machine> machine, const SessionOptions& options,
    SimulatorMaker new_simulator);

// A session of a program that was loaded with constants.
std::unique_ptr<Session> NewSession(
    std::shared_ptr<const LoadedProgram> loaded);
// All checks of a run that need no values: see CountCycles().
absl::Status CheckWithoutRun(std::shared_ptr<const LoadedProgram> loaded);

// RESOURCE_EXHAUSTED if sessions may not simulate that much memory.
absl::Status CheckMemoryBytes(int64_t bytes, const SessionOptions& options);

// An error in the structure of a program.
absl::Status InvalidProgram(std::string what, std::string where,
                            std::string limit = "");

}  // namespace edgekiln::simfarm

#endif  // EK_SIMFARM_SESSION_LOADED_PROGRAM_H_
