#ifndef EK_SIMFARM_SESSION_FIRMWARE_PROGRAM_H_
#define EK_SIMFARM_SESSION_FIRMWARE_PROGRAM_H_

// A program of firmware that passed every check that needs no run: what
// sessions share.

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "edgekiln/v1/program.pb.h"
#include "edgekiln/v1/target.pb.h"
#include "simfarm/session/loaded_program.h"
#include "simfarm/session/session.h"
#include "simfarm/simulators/rv32/elf.h"
#include "simfarm/simulators/rv32/machine.h"

namespace edgekiln::simfarm {

// Where a loader puts the exit device.
inline constexpr uint32_t kExitDeviceAddress = 0x100000;

// Immutable once loaded.
struct FirmwareProgram {
  // Its steps are the layers, with their taps.
  std::shared_ptr<const LoadedProgram> loaded;
  rv32::Executable executable;
  rv32::MachineConfig config;  // Without devices, unchecked.
  uint32_t run = 0;            // Where an inference begins.
  // Where functions of layers begin. Layers that a compiler found to be equal
  // may share one.
  std::vector<uint32_t> entries;
  std::vector<int> function_of_layer;  // Index into entries; -1: no code.
  // Instructions, at most.
  int64_t setup_limit = 0;
  int64_t inference_limit = 0;

  bool has_costs() const { return config.costs.has_value(); }
};

// `machine` passed ValidateMachine(); all else is hostile. Errors as of
// LoadSession().
absl::StatusOr<std::shared_ptr<const FirmwareProgram>> LoadFirmware(
    const v1::Program& program, absl::string_view elf,
    const v1::Machine& machine, const SessionOptions& options);

}  // namespace edgekiln::simfarm

#endif  // EK_SIMFARM_SESSION_FIRMWARE_PROGRAM_H_
