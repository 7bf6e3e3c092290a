#ifndef EK_SIMFARM_HOT_SPOTS_CODE_VIEW_H_
#define EK_SIMFARM_HOT_SPOTS_CODE_VIEW_H_

// Instructions of an executable by address, and what they take part in.

#include <cstdint>
#include <optional>

#include "simfarm/session/firmware_profile.h"
#include "simfarm/simulators/rv32/isa.h"

namespace edgekiln::simfarm {

// The instruction at `address` as the loader puts it there. Absent if no
// segment has it, or the core cannot decode it: code that the firmware writes
// itself is not seen.
std::optional<rv32::Instruction> InstructionAt(const FirmwareProfile& profile,
                                               uint32_t address);

// Where the instruction at `pc` goes on without a call: the destination of a
// branch, or of a jump that keeps no return address. Absent for others.
std::optional<uint32_t> JumpTarget(const rv32::Instruction& instruction,
                                   uint32_t pc);

// How often `count`, of an instruction with a JumpTarget(), went there.
int64_t JumpsTaken(const rv32::Instruction& instruction,
                   const rv32::PcCount& count);

}  // namespace edgekiln::simfarm

#endif  // EK_SIMFARM_HOT_SPOTS_CODE_VIEW_H_
