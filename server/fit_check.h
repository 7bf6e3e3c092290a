#ifndef EK_SERVER_FIT_CHECK_H_
#define EK_SERVER_FIT_CHECK_H_

// Stage `check_fit`: what cannot fit a target is refused before it is
// calibrated, quantized and cut into tiles (docs/design/0012).

#include "absl/status/status.h"
#include "edgekiln/v1/jobs.pb.h"
#include "edgekiln/v1/stage.pb.h"
#include "server/target_stages.h"
#include "server/task.h"

namespace edgekiln::server {

// Sets run.check_fit or run.late_check_fit, null where the stage would tell
// nothing or something wrong: of C code its compiler says whether it fits, and
// the stage looks at the form in the integers that the target's engines take.
// `outline` is of what will be compiled or, with `quantizes`, of the float
// network that becomes it; `resolved` is that of the run's target.
void StartFitCheck(const v1::CreateJobRequest& request,
                   const v1::BlobRef& outline, bool quantizes,
                   const v1::StageResult& resolved, TargetRun& run);

// The user's error if the check found that the network cannot fit. It is there
// to save time: where it could not be made, later stages find out themselves.
Task<absl::Status> FitRefusal(const TargetRun& run);

}  // namespace edgekiln::server

#endif  // EK_SERVER_FIT_CHECK_H_
