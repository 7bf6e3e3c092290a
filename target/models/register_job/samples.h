#ifndef EK_TARGET_MODELS_REGISTER_JOB_SAMPLES_H_
#define EK_TARGET_MODELS_REGISTER_JOB_SAMPLES_H_

// Jobs with which a descriptor of the engine model REGISTER_JOB is tried out.

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "target/register_jobs.h"

namespace edgekiln::target {

// The largest sample that the registers hold and the job's conditions allow, if
// it is decoded unchanged. Its signed variables and flags depend on `negative`;
// `change` is made to it before. INVALID_ARGUMENT says why there is none.
absl::StatusOr<JobVariables> ToldSample(
    const RegisterJobsView& view, int32_t job, bool negative,
    absl::FunctionRef<void(JobVariables&)> change = [](JobVariables&) {});

}  // namespace edgekiln::target

#endif  // EK_TARGET_MODELS_REGISTER_JOB_SAMPLES_H_
