#ifndef EK_SERVER_SWEEP_KEPT_MODELS_H_
#define EK_SERVER_SWEEP_KEPT_MODELS_H_

#include <cstddef>

#include "absl/status/statusor.h"
#include "edgekiln/v1/sweep.pb.h"
#include "server/job_context.h"
#include "server/sweep/plan_stage.h"
#include "server/task.h"

namespace edgekiln::server {

// Models on variants of targets that are asked about. Where a plan has more,
// none is: the answers would take longer than a plan may.
inline constexpr size_t kMaxAsked = 64;

// On which variants of `plan` the models of `quantized` keep their integers,
// where `plan` has cells for which it matters and could not tell: as a plan
// with a cell for each, of which group, model and variant count. The stages
// that answer are the first ones of these cells. What they fail to answer is
// left out. Fails for lack of memory alone. The arguments must outlive the
// task.
Task<absl::StatusOr<v1::SweepPlan>> KeptModels(const v1::SweepRequest& request,
                                               const v1::SweepGroup& quantized,
                                               const v1::SweepPlan& plan,
                                               SweepBlobs& blobs,
                                               JobContext& stages);

}  // namespace edgekiln::server

#endif  // EK_SERVER_SWEEP_KEPT_MODELS_H_
