#ifndef EK_SIMFARM_SIMULATORS_RV32_FAULT_H_
#define EK_SIMFARM_SIMULATORS_RV32_FAULT_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"

namespace edgekiln::simfarm::rv32 {

// What ends a run. The first group are traps that no handler was installed for;
// the others end it whether or not there is one.
enum class FaultKind {
  kFetchMisaligned,
  kFetchAccess,
  kIllegalInstruction,
  kBreakpoint,
  kEcall,
  kLoadMisaligned,
  kLoadAccess,
  kStoreMisaligned,
  kStoreAccess,

  kUndefinedRead,  // Of bytes that nothing wrote; checked runs only.
  kStackOverflow,
  kDevice,         // A device refuses an access; `detail` has its words.
  kSleepsForever,  // wfi without any event to come.
};

struct Fault {
  FaultKind kind = FaultKind::kIllegalInstruction;
  uint32_t pc = 0;
  // Of the access, or sp of a stack overflow; the bits of an illegal
  // instruction.
  uint32_t address = 0;
  std::string place{};     // Memory and address, if there is one: "rom 0x10".
  std::string function{};  // With `pc`; empty if no symbol covers it.
  std::string detail{};
};

// FAILED_PRECONDITION: what happened, the function and the pc, the address.
absl::Status FaultError(const Fault& fault);

}  // namespace edgekiln::simfarm::rv32

#endif  // EK_SIMFARM_SIMULATORS_RV32_FAULT_H_
