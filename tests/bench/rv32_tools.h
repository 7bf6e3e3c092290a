#ifndef EK_TESTS_BENCH_RV32_TOOLS_H_
#define EK_TESTS_BENCH_RV32_TOOLS_H_

// What benches of programs for RV32 share: running tools, and a machine to run
// what they make. Whatever fails ends the bench with a message.

#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "simfarm/simulators/rv32/machine.h"

namespace edgekiln::bench {

// Prints "bench: MESSAGE" and ends the process with exit code 1.
[[noreturn]] void Die(const std::string& message);

template <typename T>
T OrDie(absl::StatusOr<T> value, const std::string& what) {
  if (!value.ok()) Die(absl::StrCat(what, ": ", value.status().ToString()));
  return *std::move(value);
}

// By a shell.
void RunCommand(const std::string& command);

std::string ReadFile(const std::string& path);

// Where rv32/link.ld has RAM, and how much.
inline constexpr uint32_t kRv32Ram = 0x80000000;
inline constexpr int64_t kRv32RamBytes = 16 << 20;

// RV32IMC with that RAM, and a device at which writing ends the run.
simfarm::rv32::MachineConfig Rv32Config(simfarm::rv32::Device& exit);

// Runs a machine whose program is loaded to its end.
simfarm::rv32::RunResult RunToEnd(simfarm::rv32::Machine& machine);

}  // namespace edgekiln::bench

#endif  // EK_TESTS_BENCH_RV32_TOOLS_H_
