#ifndef EK_SERVER_WORKER_STAGES_CHUNK_STATES_H_
#define EK_SERVER_WORKER_STAGES_CHUNK_STATES_H_

// States on their way from one chunk of a sequence to the next: the blob
// "states", which the stage of a chunk leaves for the same stage of the next.

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/ir/graph.h"
#include "server/worker/stage_io.h"
#include "server/worker/stages/samples.h"

namespace edgekiln::server {

// Values by state of the network; none: all are real zero.
struct ChunkStates {
  std::vector<std::string> reference;
  std::vector<std::string> chip;  // Only where one is simulated.
};

// What the first sample of `chunk` begins with. INTERNAL if the chunk before
// it, which it needs, left nothing that fits `graph`, or another one did.
absl::StatusOr<ChunkStates> StatesBefore(const StageInputs& inputs,
                                         const compiler::Graph& graph,
                                         const ChunkReader& chunk,
                                         bool with_chip);

// Leaves what the last sample ended with, if another chunk may need it.
void AddStates(const ChunkReader& chunk, const ChunkStates& states,
               StageOutput& output);

}  // namespace edgekiln::server

#endif  // EK_SERVER_WORKER_STAGES_CHUNK_STATES_H_
