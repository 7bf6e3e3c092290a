#ifndef EK_SERVER_WORKER_STAGES_DATA_IO_H_
#define EK_SERVER_WORKER_STAGES_DATA_IO_H_

// What the stages that make chunks share.

#include <vector>

#include "absl/status/statusor.h"
#include "compiler/dataset/convert.h"
#include "edgekiln/v1/graph.pb.h"
#include "server/worker/stage_io.h"

namespace edgekiln::server {

// Of the input "graph". INTERNAL if that is none.
absl::StatusOr<compiler::ModelInputs> ModelInputsOf(const StageInputs& inputs);

// One output "chunk" each, in order.
void AddChunks(const std::vector<v1::Chunk>& chunks, StageOutput& output);

}  // namespace edgekiln::server

#endif  // EK_SERVER_WORKER_STAGES_DATA_IO_H_
