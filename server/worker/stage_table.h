#ifndef EK_SERVER_WORKER_STAGE_TABLE_H_
#define EK_SERVER_WORKER_STAGE_TABLE_H_

// Which code executes which stage.

#include "absl/status/statusor.h"
#include "edgekiln/v1/stage.pb.h"
#include "server/worker/stage_io.h"

namespace edgekiln::server {

// Executes one stage in this thread. A pure function of options and inputs; the
// roles of both are documented in stage.proto. Thread-safe. Errors are the
// stage's own: those of the user carry a detail or a code that says so.
absl::StatusOr<StageOutput> RunStage(const v1::StageOptions& options,
                                     const StageInputs& inputs,
                                     const ProgressSink& progress);

}  // namespace edgekiln::server

#endif  // EK_SERVER_WORKER_STAGE_TABLE_H_
