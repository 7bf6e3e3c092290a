#ifndef EK_SIMFARM_SESSION_FIRMWARE_PROFILE_H_
#define EK_SIMFARM_SESSION_FIRMWARE_PROFILE_H_

// Where an inference of firmware spent its instructions.

#include <cstdint>
#include <map>
#include <vector>

#include "simfarm/simulators/rv32/elf.h"
#include "simfarm/simulators/rv32/isa.h"
#include "simfarm/simulators/rv32/machine.h"

namespace edgekiln::simfarm {

// Counts of one inference, setup not included.
struct FirmwareProfile {
  rv32::Isa isa;
  rv32::Executable executable;
  // What was executed, or took cycles, by address. Executions sum to
  // `instructions`, cycles to `cycles`, which are of the core's clock.
  std::vector<rv32::PcCount> addresses;
  int64_t instructions = 0;
  int64_t cycles = 0;
  // By address of a function, the layer (an index into Program.layers) in which
  // it spent most cycles; of equal ones the first.
  std::map<uint32_t, int> layer_of_function;
};

// Follows the counts of a machine with MachineConfig.profile, from layer to
// layer. Not thread-safe.
class ProfileRecorder {
 public:
  // The inference begins, or goes on with the next layer, at these counts.
  void Begin(const rv32::Machine& machine);
  void EndLayer(int layer, const rv32::Machine& machine);
  // The inference has ended. Fills all but isa and executable.
  FirmwareProfile End(const rv32::Machine& machine) const;

 private:
  struct Function {
    int64_t counted_cycles = 0;  // Up to the layer that ended last.
    std::map<int, int64_t> cycles_of_layer;
  };

  rv32::Totals begin_;
  std::map<uint32_t, rv32::PcCount> begin_counts_;
  std::map<uint32_t, Function> functions_;
};

}  // namespace edgekiln::simfarm

#endif  // EK_SIMFARM_SESSION_FIRMWARE_PROFILE_H_
