#ifndef EK_SIMFARM_SIMULATORS_RV32_TESTING_TEST_MACHINE_H_
#define EK_SIMFARM_SIMULATORS_RV32_TESTING_TEST_MACHINE_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "simfarm/simulators/rv32/devices.h"
#include "simfarm/simulators/rv32/machine.h"
#include "simfarm/simulators/rv32/testing/assembler.h"

namespace edgekiln::simfarm::rv32::testing {

// A small chip: code lies in rom, data in ram, and there is one device of each
// kind. rom cannot be written by the core, ram cannot be executed.
inline constexpr uint32_t kRom = 0x1000;
inline constexpr int64_t kRomBytes = 0x4000;
inline constexpr uint32_t kRam = 0x20000000;
inline constexpr int64_t kRamSize = 0x1000;
inline constexpr uint32_t kTimer = 0x02000000;
inline constexpr uint32_t kConsole = 0x10000000;
inline constexpr uint32_t kExit = 0x00100000;

class TestMachine {
 public:
  // Memory and devices are added to `config`, where it has none of its own.
  explicit TestMachine(MachineConfig config);

  // Puts instructions at the beginning of the code and starts there.
  void Load(const std::vector<uint32_t>& words);
  void LoadCode(const Assembler& code,
                const std::vector<Function>& functions = {});
  // Fails the test on errors.
  RunResult Run(int64_t max_instructions);
  uint32_t x(int index) const { return machine_->registers().x[index]; }

  Machine& operator*() { return *machine_; }
  Machine* operator->() { return machine_.get(); }
  const Console& console() const { return console_; }

 private:
  Console console_{16};
  ExitDevice exit_;
  Timer timer_{1};
  std::unique_ptr<Machine> machine_;
};

}  // namespace edgekiln::simfarm::rv32::testing

#endif  // EK_SIMFARM_SIMULATORS_RV32_TESTING_TEST_MACHINE_H_
