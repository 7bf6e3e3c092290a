#ifndef EK_COMPILER_ENGINES_REGISTER_JOB_EMIT_H_
#define EK_COMPILER_ENGINES_REGISTER_JOB_EMIT_H_

#include "absl/status/statusor.h"
#include "compiler/engines/backend.h"
#include "compiler/engines/register_job/placement.h"
#include "edgekiln/v1/tiling.pb.h"

namespace edgekiln::compiler::register_job {

// The steps of a plan with the addresses in `memory`. INVALID_ARGUMENT if the
// plan is not about this op; OUT_OF_RANGE if a register does not hold an
// address.
absl::StatusOr<RegionCode> EmitRegion(const Graph& graph,
                                      const Placement& placement,
                                      const v1::RegionPlan& plan,
                                      const RegionMemory& memory);

}  // namespace edgekiln::compiler::register_job

#endif  // EK_COMPILER_ENGINES_REGISTER_JOB_EMIT_H_
