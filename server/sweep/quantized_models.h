#ifndef EK_SERVER_SWEEP_QUANTIZED_MODELS_H_
#define EK_SERVER_SWEEP_QUANTIZED_MODELS_H_

#include "absl/status/statusor.h"
#include "edgekiln/v1/sweep.pb.h"
#include "server/job_context.h"
#include "server/sweep/plan_stage.h"
#include "server/task.h"

namespace edgekiln::server {

// The models of `request` that came quantized, as their import says: those of
// groups that vary a key whose meaning depends on it. No others are imported,
// and the cells find those that are in the cache. A model that cannot be
// imported, or whose blobs are not there, is left out: its cells tell why.
// Fails for lack of memory alone. The arguments must outlive the task.
Task<absl::StatusOr<v1::SweepGroup>> QuantizedModels(
    const v1::SweepRequest& request, SweepBlobs& blobs, JobContext& stages);

}  // namespace edgekiln::server

#endif  // EK_SERVER_SWEEP_QUANTIZED_MODELS_H_
