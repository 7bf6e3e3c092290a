#ifndef EK_SIMFARM_SESSION_FIRMWARE_CONFIG_H_
#define EK_SIMFARM_SESSION_FIRMWARE_CONFIG_H_

// The core that a machine with firmware describes.

#include "absl/status/statusor.h"
#include "edgekiln/v1/program.pb.h"
#include "edgekiln/v1/target.pb.h"
#include "simfarm/simulators/rv32/machine.h"

namespace edgekiln::simfarm {

// Processor, memories, costs and stack, without devices, unchecked. `firmware`
// is hostile; `machine` passed ValidateMachine(). INVALID_ARGUMENT if they do
// not fit each other or an entry is wrong, UNIMPLEMENTED for a processor that
// is not simulated.
absl::StatusOr<rv32::MachineConfig> FirmwareConfig(
    const v1::Program::Firmware& firmware, const v1::Machine& machine);

}  // namespace edgekiln::simfarm

#endif  // EK_SIMFARM_SESSION_FIRMWARE_CONFIG_H_
