#ifndef EK_SERVER_WORKER_STAGES_DATA_IO_H_
#define EK_SERVER_WORKER_STAGES_DATA_IO_H_

// What the stages that make chunks share.

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "compiler/dataset/convert.h"
#include "edgekiln/v1/graph.pb.h"
#include "server/worker/stage_io.h"

namespace edgekiln::server {

// Of the input "graph". INTERNAL if that is none.
absl::StatusOr<compiler::ModelInputs> ModelInputsOf(const StageInputs& inputs);

// What the input "graph" gives: whether samples can be right or wrong. The
// labels of `summary` are known.
absl::Status AddFormTo(const StageInputs& inputs,
                       v1::StageSummary::Data& summary);

// The user's error if that many bytes of samples cannot be made and handed on
// with the memory that the stage may use.
absl::Status CheckSampleBytes(const StageInputs& inputs,
                              std::optional<int64_t> bytes);

// Whether each chunk needs the states at the end of the one before.
bool AreSequential(const std::vector<v1::Chunk>& chunks);

// One output "chunk" each, in order.
void AddChunks(const std::vector<v1::Chunk>& chunks, StageOutput& output);

}  // namespace edgekiln::server

#endif  // EK_SERVER_WORKER_STAGES_DATA_IO_H_
