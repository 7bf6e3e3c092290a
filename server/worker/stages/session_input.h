#ifndef EK_SERVER_WORKER_STAGES_SESSION_INPUT_H_
#define EK_SERVER_WORKER_STAGES_SESSION_INPUT_H_

// Programs on their way to a simulated chip.

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "edgekiln/v1/program.pb.h"
#include "server/worker/stage_io.h"
#include "simfarm/session/session.h"

namespace edgekiln::server {

// A program with a session that runs it.
struct LoadedProgram {
  v1::Program program;
  std::unique_ptr<simfarm::Session> session;
};

// Loads the inputs "program", "constants" and "machine".
// `tensor_element_bytes` as in SessionOptions. Errors: as SimulationError().
absl::StatusOr<LoadedProgram> LoadProgram(
    const StageInputs& inputs, std::vector<int64_t> tensor_element_bytes);

// The compiler made the program, so that a simulator that refuses it has found
// a bug of ours: INTERNAL, with what it found. RESOURCE_EXHAUSTED stays.
absl::Status SimulationError(const absl::Status& status);

}  // namespace edgekiln::server

#endif  // EK_SERVER_WORKER_STAGES_SESSION_INPUT_H_
