#include "simfarm/simulators/rv32/testing/test_machine.h"

#include <utility>

#include "gtest/gtest.h"

namespace edgekiln::simfarm::rv32::testing {

TestMachine::TestMachine(MachineConfig config) {
  if (config.memory.empty()) {
    config.memory = {{.name = "rom",
                      .base = kRom,
                      .size_bytes = kRomBytes,
                      .writable = false},
                     {.name = "ram",
                      .base = kRam,
                      .size_bytes = kRamSize,
                      .executable = false}};
  }
  if (config.devices.empty()) {
    config.devices = {
        {.name = "console", .base = kConsole, .device = &console_},
        {.name = "exit", .base = kExit, .device = &exit_},
        {.name = "timer",
         .base = kTimer,
         .size_bytes = kTimerWindowBytes,
         .device = &timer_,
         .line = InterruptLine::kTimer}};
  }
  auto machine = NewMachine(std::move(config));
  EXPECT_TRUE(machine.ok()) << machine.status();
  machine_ = *std::move(machine);
}

void TestMachine::Load(const std::vector<uint32_t>& words) {
  LoadCode(Assembler(kRom).Words(words));
}

void TestMachine::LoadCode(const Assembler& code,
                           const std::vector<Function>& functions) {
  const auto executable = ReadElf(BuildElf(kRom, code.bytes(), functions));
  ASSERT_TRUE(executable.ok()) << executable.status();
  const absl::Status status = machine_->Load(*executable);
  ASSERT_TRUE(status.ok()) << status;
}

RunResult TestMachine::Run(int64_t max_instructions) {
  const auto result = machine_->Run(max_instructions);
  EXPECT_TRUE(result.ok()) << result.status();
  return result.ok() ? *result : RunResult();
}

}  // namespace edgekiln::simfarm::rv32::testing
