#include "simfarm/simulators/rv32/core.h"

namespace edgekiln::simfarm::rv32 {
namespace {

constexpr uint32_t kMie = 1u << 3;
constexpr uint32_t kMpie = 1u << 7;
constexpr uint32_t kMpp = 3u << 11;  // Machine mode, the only one.
constexpr uint32_t kFs = 3u << 13;
constexpr uint32_t kSd = 1u << 31;

uint32_t Misa(Isa isa) {
  const auto bit = [](char letter) { return 1u << (letter - 'A'); };
  return 1u << 30 | bit('I') | (isa.m ? bit('M') : 0) | (isa.f ? bit('F') : 0) |
         (isa.c ? bit('C') : 0);
}

// Any use of float makes its state dirty, so that only off and dirty exist.
uint32_t VisibleStatus(const Core& core) {
  return core.mstatus | kMpp | (core.float_enabled() ? kSd : 0);
}

void SetLow(uint64_t* offset, uint64_t now, uint32_t value) {
  const uint64_t shown = now + *offset;
  *offset = ((shown & ~uint64_t{0xffffffff}) | value) - now;
}

void SetHigh(uint64_t* offset, uint64_t now, uint32_t value) {
  const uint64_t shown = now + *offset;
  *offset = ((shown & 0xffffffff) | uint64_t{value} << 32) - now;
}

enum Csr : uint32_t {
  kFflags = 0x001,
  kFrm = 0x002,
  kFcsr = 0x003,
  kMstatus = 0x300,
  kMisa = 0x301,
  kMieCsr = 0x304,
  kMtvec = 0x305,
  kMstatush = 0x310,
  kMscratch = 0x340,
  kMepc = 0x341,
  kMcause = 0x342,
  kMtval = 0x343,
  kMip = 0x344,
  kMcycle = 0xb00,
  kMinstret = 0xb02,
  kMcycleh = 0xb80,
  kMinstreth = 0xb82,
  kCycle = 0xc00,
  kInstret = 0xc02,
  kCycleh = 0xc80,
  kInstreth = 0xc82,
  kMvendorid = 0xf11,
  kMarchid = 0xf12,
  kMimpid = 0xf13,
  kMhartid = 0xf14,
};

bool IsFloatCsr(uint32_t csr) { return csr >= kFflags && csr <= kFcsr; }

}  // namespace

bool Core::float_enabled() const { return isa.f && (mstatus & kFs) != 0; }

std::optional<uint32_t> Core::InterruptToTake(uint32_t pending) const {
  const uint32_t ready = pending & mie;
  if ((mstatus & kMie) == 0) return std::nullopt;
  if (ready & kExternalInterrupt) return kCauseInterrupt | 11;
  if (ready & kTimerInterrupt) return kCauseInterrupt | 7;
  return std::nullopt;
}

std::optional<uint32_t> ReadCsr(const Core& core, uint32_t csr,
                                uint32_t pending) {
  if (IsFloatCsr(csr) && !core.float_enabled()) return std::nullopt;
  const uint64_t cycles =
      static_cast<uint64_t>(core.cycles) + core.cycle_offset;
  const uint64_t instructions =
      static_cast<uint64_t>(core.instructions) + core.instruction_offset;
  switch (csr) {
    case kFflags:
      return core.fflags;
    case kFrm:
      return core.frm;
    case kFcsr:
      return core.frm << 5 | core.fflags;
    case kMstatus:
      return VisibleStatus(core);
    case kMisa:
      return Misa(core.isa);
    case kMieCsr:
      return core.mie;
    case kMtvec:
      return core.mtvec;
    case kMscratch:
      return core.mscratch;
    case kMepc:
      return core.mepc;
    case kMcause:
      return core.mcause;
    case kMtval:
      return core.mtval;
    case kMip:
      return pending;
    case kMcycle:
    case kCycle:
      return static_cast<uint32_t>(cycles);
    case kMcycleh:
    case kCycleh:
      return static_cast<uint32_t>(cycles >> 32);
    case kMinstret:
    case kInstret:
      return static_cast<uint32_t>(instructions);
    case kMinstreth:
    case kInstreth:
      return static_cast<uint32_t>(instructions >> 32);
    case kMstatush:
    case kMvendorid:
    case kMarchid:
    case kMimpid:
    case kMhartid:
      return 0;
    default:
      return std::nullopt;
  }
}

bool WriteCsr(Core* core, uint32_t csr, uint32_t value, int64_t cycles) {
  if (csr >> 10 == 3) return false;  // Read-only by its number.
  if (IsFloatCsr(csr) && !core->float_enabled()) return false;
  const auto next_cycle = static_cast<uint64_t>(core->cycles + cycles);
  const auto next_instruction = static_cast<uint64_t>(core->instructions) + 1;
  switch (csr) {
    case kFflags:
      core->fflags = value & 31;
      return true;
    case kFrm:
      core->frm = value & 7;
      return true;
    case kFcsr:
      core->fflags = value & 31;
      core->frm = value >> 5 & 7;
      return true;
    case kMstatus:
      core->mstatus = value & (kMie | kMpie);
      if (core->isa.f && (value & kFs) != 0) core->mstatus |= kFs;
      return true;
    case kMieCsr:
      core->mie = value & (kTimerInterrupt | kExternalInterrupt);
      return true;
    case kMtvec:
      core->mtvec = value & ~2u;
      return true;
    case kMscratch:
      core->mscratch = value;
      return true;
    case kMepc:
      core->mepc = value & (core->isa.c ? ~1u : ~3u);
      return true;
    case kMcause:
      core->mcause = value;
      return true;
    case kMtval:
      core->mtval = value;
      return true;
    case kMcycle:
      SetLow(&core->cycle_offset, next_cycle, value);
      return true;
    case kMcycleh:
      SetHigh(&core->cycle_offset, next_cycle, value);
      return true;
    case kMinstret:
      SetLow(&core->instruction_offset, next_instruction, value);
      return true;
    case kMinstreth:
      SetHigh(&core->instruction_offset, next_instruction, value);
      return true;
    case kMisa:
    case kMstatush:
    case kMip:
      return true;  // All bits are read-only.
    default:
      return false;
  }
}

void EnterTrap(Core* core, uint32_t cause, uint32_t value) {
  core->mepc = core->pc;
  core->mcause = cause;
  core->mtval = value;
  const bool enabled = (core->mstatus & kMie) != 0;
  core->mstatus &= ~(kMie | kMpie);
  if (enabled) core->mstatus |= kMpie;
  core->pc = core->mtvec & ~3u;
  const bool vectored = (core->mtvec & 1) != 0;
  if (vectored && (cause & kCauseInterrupt) != 0) {
    core->pc += 4 * (cause & ~kCauseInterrupt);
  }
}

void ReturnFromTrap(Core* core) {
  const bool enabled = (core->mstatus & kMpie) != 0;
  core->mstatus &= ~kMie;
  core->mstatus |= kMpie | (enabled ? kMie : 0);
  core->pc = core->mepc;
}

}  // namespace edgekiln::simfarm::rv32
