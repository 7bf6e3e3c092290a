#ifndef EK_SIMFARM_SIMULATORS_DLA_CONSTANT_OPERANDS_H_
#define EK_SIMFARM_SIMULATORS_DLA_CONSTANT_OPERANDS_H_

// Weights and tables that a transfer brings from memory no run changes. Where
// nobody else looks at what it brings, later runs need not move it: commands
// read it where it comes from, and keep what they made of it.

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "simfarm/simulators/dla/instruction.h"
#include "simfarm/simulators/engine_stream.h"

namespace edgekiln::simfarm::dla {

// Of one instruction.
struct ConstantOperands {
  // CONV, CONV_RELU, DEPTH_CONV and MAT_MUL: where weights and table lie in
  // system memory, both constant; -1: not known to be.
  int64_t weights = -1;
  int64_t table = -1;
  bool unneeded = false;  // A transfer of which nothing is read in SRAM.

  bool known() const { return table >= 0; }
};

// One per instruction of a stream that passed CheckLimits(). `shown` is what is
// looked at from outside.
std::vector<ConstantOperands> FindConstantOperands(
    const std::vector<Instruction>& instructions, const StreamContext& context,
    int64_t sram_bytes, absl::Span<const ShownRange> shown);

}  // namespace edgekiln::simfarm::dla

#endif  // EK_SIMFARM_SIMULATORS_DLA_CONSTANT_OPERANDS_H_
