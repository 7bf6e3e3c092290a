#ifndef EK_TESTING_TINY_VECTOR_SIMULATOR_INSTRUCTION_H_
#define EK_TESTING_TINY_VECTOR_SIMULATOR_INSTRUCTION_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "edgekiln/v1/target.pb.h"
#include "simfarm/simulators/engine_stream.h"
#include "testing/tiny_vector/model.h"

namespace edgekiln::simfarm::tiny_vector {

using target::tiny_vector::Banks;
using target::tiny_vector::Command;
using target::tiny_vector::Register;

// A command that is neither a register write nor END, with all it depends on.
struct Instruction {
  int32_t word = 0;  // Of the stream.
  Command command = Command::kEnd;
  int64_t control_cycles = 0;    // Since the instruction before, with issue.
  int64_t occupancy_cycles = 0;  // Its own work.
  // Those that the command does not read may be undefined.
  std::array<int64_t, target::tiny_vector::kNumRegisters> registers{};

  int64_t operator[](Register reg) const {
    return registers[static_cast<int>(reg)];
  }
  bool reads_a() const {
    return command == Command::kMax || command == Command::kAdd;
  }
  // Vectors that each piece of a transfer takes, and all of them.
  int64_t PieceVectors(int64_t lanes) const;
  int64_t Vectors(int64_t lanes) const;
  // Of a transfer: bytes from the first to the last in system memory.
  int64_t SystemExtent() const;
};

struct DecodedStream {
  int32_t num_words = 0;
  std::vector<Instruction> instructions;
  int64_t end_cycles = 0;  // After the last instruction.
  // Vectors that are reached: the highest + 1.
  int64_t vectors_a = 0;
  int64_t vectors_b = 0;
  // Of each range of the context, what is reached; begin == end: nothing.
  std::vector<EngineStream::SystemRange> system;
};

// `code` is hostile; `machine` passed ValidateMachine(). FAILED_PRECONDITION
// names the command: a word that means nothing, a register that is read and was
// not written, values that the command cannot work with, places outside memory.
absl::StatusOr<DecodedStream> DecodeStream(absl::string_view code,
                                           const v1::Machine& machine,
                                           const StreamContext& context);

// FAILED_PRECONDITION: "`what`; where: command 4 (MAX), `address`, layer conv".
absl::Status ProgramError(int32_t word, absl::string_view name,
                          const StreamContext& context, std::string what,
                          absl::string_view address = "",
                          std::string limit = "");

}  // namespace edgekiln::simfarm::tiny_vector

#endif  // EK_TESTING_TINY_VECTOR_SIMULATOR_INSTRUCTION_H_
