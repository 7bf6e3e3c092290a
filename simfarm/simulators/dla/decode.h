#ifndef EK_SIMFARM_SIMULATORS_DLA_DECODE_H_
#define EK_SIMFARM_SIMULATORS_DLA_DECODE_H_

// From the bytes of a command stream to instructions, by the tables of the
// machine's instruction set.

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "edgekiln/v1/target.pb.h"
#include "simfarm/simulators/dla/instruction.h"

namespace edgekiln::simfarm::dla {

inline constexpr int64_t kMaxStreamWords = int64_t{1} << 24;
// Each holds a copy of the register file.
inline constexpr int64_t kMaxInstructions = target::kMaxDlaStreamCommands;

struct DecodedStream {
  int32_t num_words = 0;
  std::vector<Instruction> instructions;
  int64_t end_front_end_cycles = 0;  // After the last instruction, with OP_END.
};

// `code` is hostile; `machine` passed ValidateMachine(). FAILED_PRECONDITION
// for a word that means nothing, a register that a command reads and nobody
// wrote, a wait that cannot be met, a stream that does not end with its only
// OP_END. Values are not yet checked against what the command can do.
absl::StatusOr<DecodedStream> DecodeStream(absl::string_view code,
                                           const v1::Machine& machine,
                                           const v1::Machine::Engine& engine,
                                           const StreamContext& context);

}  // namespace edgekiln::simfarm::dla

#endif  // EK_SIMFARM_SIMULATORS_DLA_DECODE_H_
