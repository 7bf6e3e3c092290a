#ifndef EK_SERVER_WORKER_STAGES_CHUNK_STATES_H_
#define EK_SERVER_WORKER_STAGES_CHUNK_STATES_H_

// States carried between chunks of a sequence: the blob "states", written by
// the stage of one chunk and read by the same stage of the next.

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/ir/graph.h"
#include "server/worker/stage_io.h"
#include "server/worker/stages/samples.h"

namespace edgekiln::server {

// Values by state of the network; empty: all are real zero.
struct ChunkStates {
  std::vector<std::string> reference;
  std::vector<std::string> chip;  // Only where one is simulated.
};

// The states before the first sample of `chunk`. Empty for the first chunk and
// without carried states. INTERNAL if the input "states" does not continue at
// this sample, or does not fit `graph`.
absl::StatusOr<ChunkStates> StatesBefore(const StageInputs& inputs,
                                         const compiler::Graph& graph,
                                         const ChunkReader& chunk,
                                         bool with_chip);

// Writes the states after the last sample, if another chunk may need them.
void AddStates(const ChunkReader& chunk, const ChunkStates& states,
               StageOutput& output);

}  // namespace edgekiln::server

#endif  // EK_SERVER_WORKER_STAGES_CHUNK_STATES_H_
