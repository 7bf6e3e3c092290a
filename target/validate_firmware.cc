#include "target/validate_firmware.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "target/example.h"
#include "target/firmware.h"
#include "target/memories.h"
#include "target/nearest_name.h"

namespace edgekiln::target {
namespace {

absl::Status InvalidFirmware(ErrorDetail detail) {
  detail.reason = "TARGET_INVALID";
  return MakeError(absl::StatusCode::kInvalidArgument, std::move(detail));
}

constexpr int64_t kMaxCost = 10'000;
// docs/targets/rv32.md, section 8.
constexpr uint64_t kExitDevice = 0x100000;
constexpr uint64_t kExitDeviceBytes = 4;
// What a simulated core may have in all.
constexpr int64_t kMaxMemoryBytes = int64_t{1} << 30;
constexpr uint64_t kAddressSpace = uint64_t{1} << 32;

const InstructionClass* FindClass(const std::string& name) {
  for (const InstructionClass& each : InstructionClasses()) {
    if (each.name == name) return &each;
  }
  return nullptr;
}

absl::Status CheckClass(const std::string& name, const std::string& where) {
  if (FindClass(name) != nullptr) return absl::OkStatus();
  std::vector<std::string> names;
  for (const InstructionClass& each : InstructionClasses()) {
    names.emplace_back(each.name);
  }
  return InvalidFirmware(
      {.what = absl::StrCat("no instruction class \"", name, "\""),
       .where = where,
       .fix = DidYouMean(name, names, "docs/targets/rv32.md has the list")});
}

absl::Status OutOfRange(const std::string& where, int64_t value, int64_t min,
                        int64_t max) {
  return InvalidFirmware(
      {.what = absl::StrCat("value ", value, " is out of range"),
       .where = where,
       .limit = absl::StrCat(min, " to ", max),
       .fix = "correct the expression"});
}

absl::Status CheckCosts(const v1::Machine::Firmware& firmware) {
  std::string before;
  for (const v1::Setting& cost : firmware.costs()) {
    const std::string where =
        absl::StrCat("host: firmware: costs \"", cost.name(), "\"");
    EK_RETURN_IF_ERROR(CheckClass(cost.name(), where));
    if (!before.empty() && cost.name() <= before) {
      return InvalidFirmware({.what = "the class occurs twice, or out of order",
                              .where = where,
                              .fix = "keep one of them"});
    }
    before = cost.name();
    const int64_t least = FindClass(cost.name())->least_cycles;
    if (cost.value() < least || cost.value() > kMaxCost) {
      return OutOfRange(where, cost.value(), least, kMaxCost);
    }
  }
  return absl::OkStatus();
}

// Code and constants are linked into one memory, all else into another.
absl::Status CheckContents(const v1::Machine& machine) {
  const v1::ResolvedMemory* flash = nullptr;
  int64_t bytes = 0;
  for (const v1::ResolvedMemory& memory : machine.memories()) {
    bytes += std::min(memory.capacity_bytes(), kMaxMemoryBytes + 1);
    const bool holds[] = {Holds(memory, v1::MemoryDescriptor::CODE),
                          Holds(memory, v1::MemoryDescriptor::CONSTANTS)};
    if (!holds[0] && !holds[1]) continue;
    const bool both =
        holds[0] && holds[1] && memory.host_reaches() && !IsWritable(memory);
    if (flash != nullptr || !both) {
      return InvalidFirmware(
          {.what = "code and constants are not in one memory of their own",
           .where = absl::StrCat("memory \"", memory.name(), "\": holds"),
           .need = "one memory that holds CODE and CONSTANTS, and no "
                   "ACTIVATIONS",
           .fix = absl::StrCat(ShowsExample(true), " is a valid one")});
    }
    flash = &memory;
  }
  if (flash == nullptr) {
    return InvalidFirmware(
        {.what = "no memory holds CODE and CONSTANTS",
         .where = "memories: holds",
         .fix = absl::StrCat(ShowsExample(true), " is a valid one")});
  }
  if (bytes <= kMaxMemoryBytes) return absl::OkStatus();
  return InvalidFirmware(
      {.what = "the memories are larger than firmware can use",
       .where = "memories: capacity_bytes_expr",
       .limit = absl::StrCat(kMaxMemoryBytes, " bytes in all"),
       .need = absl::StrCat(bytes, " bytes or more"),
       .fix = "make them smaller"});
}

absl::Status CheckMemory(const v1::ResolvedMemory& memory, bool simulated) {
  const std::string where = absl::StrCat("memory \"", memory.name(), "\"");
  const uint64_t base = memory.base_address();
  const auto size = static_cast<uint64_t>(memory.capacity_bytes());
  if (base % kMemoryAlignment != 0 || size % kMemoryAlignment != 0) {
    return InvalidFirmware(
        {.what = "base and capacity must be multiples of 16",
         .where = where,
         .fix = "round them: firmware is linked to these addresses"});
  }
  if (base + size > kAddressSpace - kMemoryAlignment) {
    return InvalidFirmware(
        {.what = "the memory reaches to the end of the addresses",
         .where = where,
         .limit = absl::StrFormat("an end of 0x%x",
                                  kAddressSpace - kMemoryAlignment),
         .fix = "correct base_address or capacity_bytes_expr"});
  }
  if (simulated && base < kExitDevice + kExitDeviceBytes &&
      kExitDevice < base + size) {
    return InvalidFirmware(
        {.what = absl::StrFormat("the memory covers address 0x%x, where the "
                                 "simulator has its exit device",
                                 kExitDevice),
         .where = where,
         .fix = "put the memory elsewhere: docs/targets/rv32.md, section 8"});
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ValidateFirmware(const v1::Machine& machine) {
  const v1::Machine::Firmware& firmware = machine.firmware();
  if (FindProcessor(firmware.processor()) == nullptr) {
    std::vector<std::string> names;
    for (const ProcessorInfo& info : Processors()) {
      names.push_back(v1::Processor_Name(info.processor));
    }
    return InvalidFirmware({.what = "processor is missing or unknown",
                            .where = "host: firmware: processor",
                            .limit = absl::StrJoin(names, ", "),
                            .fix = "use one of these"});
  }
  if (machine.engines_size() > 0) {
    return InvalidFirmware(
        {.what = "a host with firmware has engines beside it",
         .where = "host: firmware",
         .fix = "leave out either: hosts that drive engines have costs"});
  }
  EK_RETURN_IF_ERROR(CheckCosts(firmware));
  EK_RETURN_IF_ERROR(CheckContents(machine));
  int64_t ram = 0;
  const bool simulated = FindProcessor(firmware.processor())->is_simulated;
  for (const v1::ResolvedMemory& memory : machine.memories()) {
    EK_RETURN_IF_ERROR(CheckMemory(memory, simulated));
    if (ram == 0 && memory.host_reaches() && IsWritable(memory)) {
      ram = memory.capacity_bytes();
    }
  }
  if (firmware.stack_bytes() % kMemoryAlignment != 0 ||
      firmware.stack_bytes() < kMemoryAlignment ||
      firmware.stack_bytes() > ram) {
    return OutOfRange("host: firmware: stack_bytes_expr, a multiple of 16",
                      firmware.stack_bytes(), kMemoryAlignment, ram);
  }
  return absl::OkStatus();
}

}  // namespace edgekiln::target
