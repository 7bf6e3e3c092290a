#ifndef EK_TARGET_MODELS_REGISTER_JOB_CONDITIONS_H_
#define EK_TARGET_MODELS_REGISTER_JOB_CONDITIONS_H_

// Limits of the engine model REGISTER_JOB that hold for every descriptor.

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "edgekiln/v1/target.pb.h"

namespace edgekiln::target {

// The kernel that computes an op, by its name; KERNEL_UNSPECIFIED if none does.
v1::RegisterJobs::Kernel JobKernelOf(absl::string_view op);

// Conditions of an op that the engine has a job for: limits of
// docs/targets/register_job.md, and of the widths of registers whose value does
// not depend on how the op is cut. The engine's jobs are valid.
absl::StatusOr<std::vector<v1::OpPattern::Condition>> JobConditions(
    const v1::Machine& machine, int32_t engine, absl::string_view op);

}  // namespace edgekiln::target

#endif  // EK_TARGET_MODELS_REGISTER_JOB_CONDITIONS_H_
