#ifndef EK_SIMFARM_SIMULATORS_DLA_LIMITS_H_
#define EK_SIMFARM_SIMULATORS_DLA_LIMITS_H_

// The checks of a command that need nothing but the command: values it can
// work with, and addresses inside SRAM and system memory. A command that passes
// can be executed without leaving memory, whatever the data.

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "simfarm/simulators/dla/instruction.h"
#include "simfarm/simulators/engine_stream.h"

namespace edgekiln::simfarm::dla {

// What the commands of a stream reach.
struct Reach {
  int64_t sram_end = 0;
  std::vector<EngineStream::SystemRange> system;  // One per DMA command.
};

// FAILED_PRECONDITION names command, register or address, and layer. Adds to
// `reach`.
absl::Status CheckLimits(const Instruction& instruction,
                         const StreamContext& context, Reach* reach);

}  // namespace edgekiln::simfarm::dla

#endif  // EK_SIMFARM_SIMULATORS_DLA_LIMITS_H_
