#include "simfarm/session/firmware_config.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "simfarm/session/loaded_program.h"
#include "simfarm/simulators/rv32/costs.h"
#include "simfarm/simulators/rv32/isa.h"
#include "target/firmware.h"
#include "target/memories.h"

namespace edgekiln::simfarm {
namespace {

constexpr int64_t kMaxWaitCycles = 10'000;
constexpr uint64_t kStackAlignment = 16;

absl::StatusOr<rv32::Isa> FindIsa(v1::Processor processor) {
  const target::ProcessorInfo* const info = target::FindProcessor(processor);
  if (info == nullptr) {
    return InvalidProgram(
        absl::StrCat("processor ", static_cast<int>(processor), " is unknown"),
        "firmware");
  }
  const std::optional<rv32::Isa> isa =
      info->is_simulated ? rv32::ParseIsa(info->name) : std::nullopt;
  if (isa.has_value()) return *isa;
  return MakeError(absl::StatusCode::kUnimplemented,
                   {.reason = "PROCESSOR_NOT_SIMULATED",
                    .what = "only rv32 is simulated",
                    .where = absl::StrCat("processor ", info->name),
                    .fix = "use a target of rv32, or do without cycles"});
}

struct NamedCost {
  const char* name;
  int32_t rv32::CycleCosts::*field;
};

// By their names in Machine.Firmware.costs.
constexpr NamedCost kCosts[] = {
    {"alu", &rv32::CycleCosts::alu},
    {"load", &rv32::CycleCosts::load},
    {"store", &rv32::CycleCosts::store},
    {"branch_not_taken", &rv32::CycleCosts::branch_not_taken},
    {"branch_taken", &rv32::CycleCosts::branch_taken},
    {"jump", &rv32::CycleCosts::jump},
    {"jump_register", &rv32::CycleCosts::jump_register},
    {"multiply", &rv32::CycleCosts::multiply},
    {"multiply_high", &rv32::CycleCosts::multiply_high},
    {"divide", &rv32::CycleCosts::divide},
    {"csr", &rv32::CycleCosts::csr},
    {"system", &rv32::CycleCosts::system},
    {"float_simple", &rv32::CycleCosts::float_simple},
    {"float_add", &rv32::CycleCosts::float_add},
    {"float_multiply", &rv32::CycleCosts::float_multiply},
    {"float_multiply_add", &rv32::CycleCosts::float_multiply_add},
    {"float_divide", &rv32::CycleCosts::float_divide},
    {"float_sqrt", &rv32::CycleCosts::float_sqrt},
    {"float_convert", &rv32::CycleCosts::float_convert},
    {"load_use_stall", &rv32::CycleCosts::load_use_stall},
    {"trap_entry", &rv32::CycleCosts::trap_entry},
};

// Absent if an instruction takes one cycle and nothing waits.
// ValidateFirmware() has looked at names and ranges.
absl::StatusOr<std::optional<rv32::CycleCosts>> FindCosts(
    const v1::Machine& machine) {
  const bool waits =
      std::any_of(machine.memories().begin(), machine.memories().end(),
                  [](const auto& m) { return m.wait_cycles() != 0; });
  if (machine.firmware().costs().empty() && !waits) return std::nullopt;
  rv32::CycleCosts costs;
  for (const v1::Setting& cost : machine.firmware().costs()) {
    const auto* const named =
        std::find_if(std::begin(kCosts), std::end(kCosts),
                     [&](const NamedCost& c) { return cost.name() == c.name; });
    if (named == std::end(kCosts)) {
      return InvalidProgram(
          absl::StrCat("no class of instructions \"", cost.name(), "\""),
          "machine: firmware: costs");
    }
    costs.*named->field = static_cast<int32_t>(cost.value());
  }
  return costs;
}

absl::StatusOr<rv32::MemoryRegion> RegionOf(const v1::ResolvedMemory& memory) {
  const std::string where = absl::StrCat("memory ", memory.name());
  if (memory.wait_cycles() < 0 || memory.wait_cycles() > kMaxWaitCycles) {
    return InvalidProgram(absl::StrCat(memory.wait_cycles(), " wait cycles"),
                          where, absl::StrCat("0 to ", kMaxWaitCycles));
  }
  if (memory.base_address() > UINT32_MAX) {
    return InvalidProgram("the memory lies above the address space", where);
  }
  const bool writable = target::IsWritable(memory);
  return rv32::MemoryRegion{
      .name = memory.name(),
      .base = static_cast<uint32_t>(memory.base_address()),
      .size_bytes = memory.capacity_bytes(),
      .writable = writable,
      .executable =
          !writable || target::Holds(memory, v1::MemoryDescriptor::CODE),
      .read_wait_cycles = memory.wait_cycles(),
      .write_wait_cycles = memory.wait_cycles(),
      .fetch_wait_cycles = memory.wait_cycles()};
}

// At the end of the first memory for activations. No guard lies below it: other
// variables do.
absl::StatusOr<rv32::StackLimit> FindStack(
    const v1::Program::Firmware& firmware, const v1::Machine& machine) {
  const auto memory = std::find_if(
      machine.memories().begin(), machine.memories().end(),
      [](const auto& m) { return m.host_reaches() && target::IsWritable(m); });
  if (memory == machine.memories().end()) {
    return InvalidProgram("no memory for a stack", "machine");
  }
  const uint64_t end = memory->base_address() + memory->capacity_bytes();
  const uint64_t top = end / kStackAlignment * kStackAlignment;
  const int64_t room = static_cast<int64_t>(top - memory->base_address());
  if (firmware.stack_bytes() < 1 || firmware.stack_bytes() > room) {
    return InvalidProgram(
        absl::StrCat("a stack of ", firmware.stack_bytes(), " bytes"),
        absl::StrCat("firmware, memory ", memory->name()),
        absl::StrCat("1 to ", room));
  }
  const uint64_t low = top - firmware.stack_bytes();
  return rv32::StackLimit{.low = static_cast<uint32_t>((low + 3) & ~3ull)};
}

}  // namespace

absl::StatusOr<rv32::MachineConfig> FirmwareConfig(
    const v1::Program::Firmware& firmware, const v1::Machine& machine) {
  rv32::MachineConfig config;
  EK_ASSIGN_OR_RETURN(config.isa, FindIsa(firmware.processor()));
  if (!machine.has_firmware() ||
      machine.firmware().processor() != firmware.processor()) {
    return InvalidProgram(
        "the firmware is for another processor than the machine's", "firmware");
  }
  if (machine.engines_size() != 0) {
    return InvalidProgram("firmware on a machine with engines", "machine");
  }
  for (const v1::ResolvedMemory& memory : machine.memories()) {
    if (!memory.host_reaches()) continue;
    EK_ASSIGN_OR_RETURN(rv32::MemoryRegion region, RegionOf(memory));
    config.memory.push_back(std::move(region));
  }
  EK_ASSIGN_OR_RETURN(config.costs, FindCosts(machine));
  EK_ASSIGN_OR_RETURN(config.stack, FindStack(firmware, machine));
  return config;
}

}  // namespace edgekiln::simfarm
