#ifndef EK_SIMFARM_SIMULATORS_RV32_CORE_H_
#define EK_SIMFARM_SIMULATORS_RV32_CORE_H_

// The architectural state of a core, and the parts of machine mode that need
// nothing else: CSRs, entry of and return from traps.

#include <array>
#include <cstdint>
#include <optional>

#include "simfarm/simulators/rv32/isa.h"
#include "simfarm/simulators/rv32/soft_float.h"

namespace edgekiln::simfarm::rv32 {

// Values of mcause.
inline constexpr uint32_t kCauseFetchMisaligned = 0;
inline constexpr uint32_t kCauseFetchAccess = 1;
inline constexpr uint32_t kCauseIllegal = 2;
inline constexpr uint32_t kCauseBreakpoint = 3;
inline constexpr uint32_t kCauseLoadMisaligned = 4;
inline constexpr uint32_t kCauseLoadAccess = 5;
inline constexpr uint32_t kCauseStoreMisaligned = 6;
inline constexpr uint32_t kCauseStoreAccess = 7;
inline constexpr uint32_t kCauseEcall = 11;
inline constexpr uint32_t kCauseInterrupt = 0x80000000;

// Bits of mie and mip.
inline constexpr uint32_t kTimerInterrupt = 1u << 7;
inline constexpr uint32_t kExternalInterrupt = 1u << 11;

// Where results for x0 go, so that x[0] stays 0.
inline constexpr int kDiscard = 32;

struct Core {
  Isa isa;
  std::array<uint32_t, 33> x = {};  // x[kDiscard] has no meaning.
  std::array<uint32_t, 32> f = {};
  uint32_t pc = 0;
  // Retired instructions; cycles, those asleep in wfi included.
  int64_t instructions = 0;
  int64_t cycles = 0;

  uint32_t fflags = 0;
  uint32_t frm = 0;
  uint32_t mstatus = 0;  // MIE, MPIE and FS; the rest is derived.
  uint32_t mtvec = 0;
  uint32_t mscratch = 0;
  uint32_t mepc = 0;
  uint32_t mcause = 0;
  uint32_t mtval = 0;
  uint32_t mie = 0;
  // What mcycle and minstret show beyond the counts above.
  uint64_t cycle_offset = 0;
  uint64_t instruction_offset = 0;

  bool float_enabled() const;  // FS of mstatus is not off.
  bool rounding_valid() const { return frm <= 4; }
  // The rounding of an instruction with this `rm`; frm is valid if it matters.
  Rounding RoundingOf(uint32_t rm) const {
    return static_cast<Rounding>(rm == 7 ? frm : rm);
  }
  // The enabled interrupt among `pending` (as in mip) that is taken first, as
  // a cause; absent if there is none or interrupts are off.
  std::optional<uint32_t> InterruptToTake(uint32_t pending) const;
};

// The CSR as the instruction sees it that has yet to retire. Absent if there is
// no such register. `pending`: mip.
std::optional<uint32_t> ReadCsr(const Core& core, uint32_t csr,
                                uint32_t pending);

// False if it cannot be written. Bits that are read-only keep their value. The
// instruction that writes is the next one to retire: a counter that it writes
// counts from the one behind. `cycles`: what the instruction takes.
bool WriteCsr(Core* core, uint32_t csr, uint32_t value, int64_t cycles);

// Enters the trap handler for what happened at core->pc.
void EnterTrap(Core* core, uint32_t cause, uint32_t value);

// mret: leaves it.
void ReturnFromTrap(Core* core);

}  // namespace edgekiln::simfarm::rv32

#endif  // EK_SIMFARM_SIMULATORS_RV32_CORE_H_
