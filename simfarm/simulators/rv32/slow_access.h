#ifndef EK_SIMFARM_SIMULATORS_RV32_SLOW_ACCESS_H_
#define EK_SIMFARM_SIMULATORS_RV32_SLOW_ACCESS_H_

#include <cstdint>

#include "simfarm/simulators/rv32/interpreter.h"

namespace edgekiln::simfarm::rv32 {

enum class AccessResult {
  kRetry,    // The slot's window now covers the address.
  kDone,     // The access has been made.
  kLeave,    // The same, and the block is to be left behind it.
  kProblem,  // See `problem` of the stretch; nothing has happened.
};

// Makes the access of a load or store whose window does not cover its address:
// finds the window, reaches devices, writes among code, or says what is wrong.
// The core's cycle count is that at which the instruction begins; wait states
// of an access that has been made are added to *wait_cycles.
AccessResult AccessSlowly(Stretch* stretch, const Instruction& instruction,
                          Slot* slot, int64_t* wait_cycles);

}  // namespace edgekiln::simfarm::rv32

#endif  // EK_SIMFARM_SIMULATORS_RV32_SLOW_ACCESS_H_
