#include "simfarm/simulators/rv32/fault.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/error.h"

namespace edgekiln::simfarm::rv32 {
namespace {

std::string What(const Fault& fault) {
  switch (fault.kind) {
    case FaultKind::kFetchMisaligned:
      return absl::StrFormat("jumps to the misaligned address 0x%08x",
                             fault.address);
    case FaultKind::kFetchAccess:
      return absl::StrCat("executes ", fault.place, ", which holds no code");
    case FaultKind::kIllegalInstruction:
      return absl::StrFormat("illegal instruction 0x%08x", fault.address);
    case FaultKind::kBreakpoint:
      return "ebreak without a trap handler";
    case FaultKind::kEcall:
      return "ecall without a trap handler";
    case FaultKind::kLoadMisaligned:
      return absl::StrCat("misaligned load from ", fault.place);
    case FaultKind::kLoadAccess:
      return absl::StrCat("load from ", fault.place, " is not possible");
    case FaultKind::kStoreMisaligned:
      return absl::StrCat("misaligned store to ", fault.place);
    case FaultKind::kStoreAccess:
      return absl::StrCat("store to ", fault.place, " is not possible");
    case FaultKind::kUndefinedRead:
      return absl::StrCat("reads ", fault.place, ", which nothing wrote");
    case FaultKind::kStackOverflow:
      return absl::StrCat("stack overflow at ", fault.place);
    case FaultKind::kDevice:
      return absl::StrCat("device access at ", fault.place,
                          " failed: ", fault.detail);
    case FaultKind::kSleepsForever:
      return "wfi without an interrupt to come";
  }
  return "fault";
}

}  // namespace

absl::Status FaultError(const Fault& fault) {
  std::string where = absl::StrFormat("pc 0x%08x", fault.pc);
  if (!fault.function.empty()) {
    where = absl::StrCat("function ", fault.function, ", ", where);
  }
  return MakeError(
      absl::StatusCode::kFailedPrecondition,
      {.reason = "FIRMWARE_FAULT", .what = What(fault), .where = where});
}

}  // namespace edgekiln::simfarm::rv32
