#include "tests/bench/rv32_tools.h"

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>

#include "simfarm/simulators/rv32/fault.h"

namespace edgekiln::bench {

void Die(const std::string& message) {
  std::cerr << "bench: " << message << "\n";
  std::exit(1);
}

void RunCommand(const std::string& command) {
  if (std::system(command.c_str()) != 0) Die(absl::StrCat("fails: ", command));
}

std::string ReadFile(const std::string& path) {
  std::ostringstream bytes;
  bytes << std::ifstream(path, std::ios::binary).rdbuf();
  return bytes.str();
}

simfarm::rv32::MachineConfig Rv32Config(simfarm::rv32::Device& exit) {
  simfarm::rv32::MachineConfig config;
  config.isa = {.m = true, .c = true};
  config.memory = {
      {.name = "ram", .base = kRv32Ram, .size_bytes = kRv32RamBytes}};
  config.devices = {{.name = "exit", .base = 0x100000, .device = &exit}};
  return config;
}

simfarm::rv32::RunResult RunToEnd(simfarm::rv32::Machine& machine) {
  auto result = OrDie(machine.Run(int64_t{1} << 40), "the run");
  if (result.fault.has_value()) {
    Die(simfarm::rv32::FaultError(*result.fault).ToString());
  }
  return result;
}

}  // namespace edgekiln::bench
