#ifndef EK_SIMFARM_SESSION_FIRMWARE_SESSION_H_
#define EK_SIMFARM_SESSION_FIRMWARE_SESSION_H_

// Sessions of programs that are firmware of a simulated processor.

#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "edgekiln/v1/program.pb.h"
#include "edgekiln/v1/target.pb.h"
#include "simfarm/session/session.h"

namespace edgekiln::simfarm {

// LoadSession() of a program with firmware, in an ELF file. `machine` passed
// ValidateMachine(); all else is hostile.
absl::StatusOr<std::unique_ptr<Session>> LoadFirmwareSession(
    const v1::Program& program, absl::string_view elf,
    const v1::Machine& machine, const SessionOptions& options);

}  // namespace edgekiln::simfarm

#endif  // EK_SIMFARM_SESSION_FIRMWARE_SESSION_H_
