#ifndef EK_TARGET_MODELS_REGISTER_JOB_H_
#define EK_TARGET_MODELS_REGISTER_JOB_H_

// The engine model REGISTER_JOB: docs/targets/register_job.md.

#include "target/engine_model.h"

namespace edgekiln::target {

// Requirements. Engine: consistent jobs (register_jobs.h) whose fields decode
// what the host writes, host costs of 1 cycle or more, and one memory beside
// the host's, for constants and activations, which a link of the host joins
// with system memory. Pattern: jobs that compute its ops; int8; no weight zero
// points; roundings, weights and a converter that its jobs have. Recipe: no
// decisions.
const EngineModel& RegisterJobModel();

}  // namespace edgekiln::target

#endif  // EK_TARGET_MODELS_REGISTER_JOB_H_
