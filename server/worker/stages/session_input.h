#ifndef EK_SERVER_WORKER_STAGES_SESSION_INPUT_H_
#define EK_SERVER_WORKER_STAGES_SESSION_INPUT_H_

// Programs on their way to a simulated chip.

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "edgekiln/v1/graph.pb.h"
#include "edgekiln/v1/program.pb.h"
#include "server/worker/stage_io.h"
#include "simfarm/session/session.h"

namespace edgekiln::server {

// A session with a program, and what it takes to use it.
struct LoadedProgram {
  std::vector<v1::TensorType> inputs;
  std::vector<v1::TensorType> outputs;
  // The program's accumulators with a tap of each, and its layouts
  // (compiler::IntermediatesOf()).
  v1::Program intermediates;
  bool is_firmware = false;      // Cycles depend on data.
  bool has_own_kernels = false;  // Layers call functions of the target's own.
  std::unique_ptr<simfarm::Session> session;
};

// Loads the inputs "program", "constants" and "machine". Errors: as
// SimulationError().
absl::StatusOr<std::shared_ptr<LoadedProgram>> LoadProgram(
    const StageInputs& inputs, const simfarm::SessionOptions& options);

// The same for stages that meet the same program again: loading checks all that
// makes running safe, and a session that an earlier stage used has passed.
// `tensor_element_bytes` as in SessionOptions.
absl::StatusOr<std::shared_ptr<LoadedProgram>> WarmProgram(
    const StageInputs& inputs,
    const std::vector<int64_t>& tensor_element_bytes);

// The compiler made the program, so that a simulator that refuses it has found
// a bug of ours: INTERNAL, with what it found. RESOURCE_EXHAUSTED stays, and so
// do an index out of range in the user's data and what the target's own
// expressions give: cycles or places out of range. A wrong operand of ours that
// such an expression reads is taken for the target's error, too. With
// `own_kernels`, faults of firmware are the target's.
absl::Status SimulationError(const absl::Status& status,
                             bool own_kernels = false);

}  // namespace edgekiln::server

#endif  // EK_SERVER_WORKER_STAGES_SESSION_INPUT_H_
