#ifndef EK_SIMFARM_SIMULATORS_DLA_CHECK_H_
#define EK_SIMFARM_SIMULATORS_DLA_CHECK_H_

// Says in stream order which bytes commands read and write and what they wait
// for. What is wrong with an access is found in chip_memory.h.

#include <cstdint>

#include "absl/status/status.h"
#include "simfarm/simulators/chip_memory.h"
#include "simfarm/simulators/dla/instruction.h"
#include "simfarm/simulators/engine_stream.h"

namespace edgekiln::simfarm::dla {

// Follows one execution in stream order. Not thread-safe.
class AccessChecker {
 public:
  // `context` and `memory`, which tracks accesses, must outlive this object.
  AccessChecker(int32_t scratchpad, const StreamContext& context,
                ChipMemory& memory);

  // Checks the next instruction of the stream and records what it reads and
  // writes. Call before executing it. FAILED_PRECONDITION names command,
  // address, layer.
  absl::Status Check(const Instruction& instruction);

 private:
  absl::Status CheckCompute(const Instruction& instruction);
  absl::Status CheckDma(const Instruction& instruction);
  absl::Status CheckSystemRead(const Instruction& instruction);
  absl::Status CheckSystemWrite(const Instruction& instruction);
  absl::Status Read(const Instruction& instruction, int64_t address,
                    int64_t bytes, bool record);
  absl::Status Write(const Instruction& instruction, int64_t address,
                     int64_t bytes);

  const StreamContext& context_;
  ChipMemory& memory_;
  ScratchpadAccesses& sram_;
};

}  // namespace edgekiln::simfarm::dla

#endif  // EK_SIMFARM_SIMULATORS_DLA_CHECK_H_
