// Any bytes are refused or read as an executable; what is read runs to a fault,
// an end or the limit, and never leaves its memory. Half of the inputs are
// files as they come; the other half is code in a good file.

#include <cstddef>
#include <cstdint>
#include <string>

#include "simfarm/simulators/rv32/devices.h"
#include "simfarm/simulators/rv32/machine.h"
#include "simfarm/simulators/rv32/testing/assembler.h"

namespace {

using namespace edgekiln::simfarm::rv32;  // NOLINT: a program of its own.

constexpr int64_t kMaxInstructions = 20'000;

void Run(const std::string& file, bool checked) {
  const auto executable = ReadElf(file);
  if (!executable.ok()) return;
  Console console(64);
  ExitDevice exit;
  Timer timer(1);
  MachineConfig config;
  config.isa = {.m = true, .f = true, .c = true};
  config.memory = {{.name = "ram", .base = 0x80000000, .size_bytes = 1 << 16}};
  config.devices = {{.name = "console", .base = 0x10000000, .device = &console},
                    {.name = "exit", .base = 0x100000, .device = &exit},
                    {.name = "timer",
                     .base = 0x2000000,
                     .size_bytes = kTimerWindowBytes,
                     .device = &timer,
                     .line = InterruptLine::kTimer}};
  config.checked = checked;
  if (checked) config.costs = CycleCosts{.branch_taken = 3, .trap_entry = 5};
  config.profile = checked;
  const auto machine = NewMachine(config);
  if (!machine.ok() || !(*machine)->Load(*executable).ok()) return;
  const auto result = (*machine)->Run(kMaxInstructions);
  Totals counted;
  for (const PcCount& each : (*machine)->CountAddresses()) {
    counted.instructions += each.executions;
    counted.cycles += each.cycles;
  }
  if (!checked) counted.cycles = (*machine)->totals().cycles;
  if (!result.ok() || counted != result->totals) __builtin_trap();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::string file =
      data[0] % 2 == 0
          ? bytes
          : testing::BuildElf(0x80000000, bytes, {{"main", 0x80000000, 0}});
  Run(file, false);
  Run(file, true);
  return 0;
}
