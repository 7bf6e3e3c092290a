#ifndef EK_TARGET_MODELS_REGISTER_JOB_H_
#define EK_TARGET_MODELS_REGISTER_JOB_H_

// The engine model REGISTER_JOB: docs/targets/register_job.md.

#include "target/engine_model.h"

namespace edgekiln::target {

// What this model needs of an engine: jobs that hold together
// (register_jobs.h), whose fields tell what the registers were told, costs of
// the host, and one memory beside the host's, for constants and activations,
// which a link of the host joins with system memory. Of a pattern: the job that
// computes it. Of a recipe: nothing, for it decides nothing.
const EngineModel& RegisterJobModel();

}  // namespace edgekiln::target

#endif  // EK_TARGET_MODELS_REGISTER_JOB_H_
