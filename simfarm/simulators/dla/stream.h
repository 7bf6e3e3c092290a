#ifndef EK_SIMFARM_SIMULATORS_DLA_STREAM_H_
#define EK_SIMFARM_SIMULATORS_DLA_STREAM_H_

// The simulator of engine model COARSE_DLA (docs/targets/dla.md).

#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "edgekiln/v1/target.pb.h"
#include "simfarm/simulators/engine_stream.h"

namespace edgekiln::simfarm::dla {

// Decodes `code` and checks everything that does not depend on what ran before:
// encodings, registers, addresses; times it. `code` is hostile; `machine`
// passed ValidateMachine() and `engine` is one of its engines.
// FAILED_PRECONDITION names command, address and layer.
absl::StatusOr<std::unique_ptr<EngineStream>> LoadStream(
    absl::string_view code, const v1::Machine& machine,
    const v1::Machine::Engine& engine, StreamContext context);

}  // namespace edgekiln::simfarm::dla

#endif  // EK_SIMFARM_SIMULATORS_DLA_STREAM_H_
