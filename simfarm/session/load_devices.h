#ifndef EK_SIMFARM_SESSION_LOAD_DEVICES_H_
#define EK_SIMFARM_SESSION_LOAD_DEVICES_H_

// Executes a program's register writes and polls once, without values, to find
// its jobs: how long they take, which memory they reach, and which polls see
// their ends.

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "edgekiln/v1/program.pb.h"
#include "simfarm/session/loaded_program.h"
#include "simfarm/session/simulators.h"
#include "simfarm/simulators/chip_memory.h"
#include "simfarm/simulators/mmio_device.h"

namespace edgekiln::simfarm {

// Not thread-safe.
class DeviceLoader {
 public:
  // Both must outlive this.
  DeviceLoader(LoadedProgram* loaded, SimulatorMaker new_simulator);

  // Fills `step`. Errors name engine, register and layer.
  absl::Status Write(const v1::Program::RegisterWrites& writes,
                     LoadedStep* step);
  absl::Status Poll(const v1::Program::Poll& poll, LoadedStep* step);
  // A move over a link in the window of `engine`, of which no job runs. Does
  // nothing if no registers start it.
  absl::Status Move(int32_t engine, const v1::Program::Move& move,
                    LoadedStep* step);

  // Whether a job was started whose end no poll has seen.
  bool IsBusy(int32_t engine) const { return engines_[engine].busy; }
  // Records how far jobs reach into each memory.
  void Finish();

 private:
  struct Engine {
    std::unique_ptr<MmioDevice> device;
    bool busy = false;
  };

  absl::Status Need(int32_t engine);

  LoadedProgram* loaded_;
  SimulatorMaker new_simulator_;
  ChipMemory chip_;  // Of full size, without bytes.
  std::vector<Engine> engines_;
  // Register writes of all further moves.
  int64_t transfer_values_left_ = int64_t{1} << 24;
};

}  // namespace edgekiln::simfarm

#endif  // EK_SIMFARM_SESSION_LOAD_DEVICES_H_
