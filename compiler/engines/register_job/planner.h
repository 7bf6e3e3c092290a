#ifndef EK_COMPILER_ENGINES_REGISTER_JOB_PLANNER_H_
#define EK_COMPILER_ENGINES_REGISTER_JOB_PLANNER_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "compiler/engines/backend.h"
#include "compiler/engines/register_job/placement.h"
#include "compiler/engines/register_job/sequence.h"
#include "edgekiln/v1/tiling.pb.h"

namespace edgekiln::compiler::register_job {

// The fastest plan in `bytes` of the engine's memory; without engine and ops.
// RESOURCE_EXHAUSTED names op, memory and the least that suffices.
absl::StatusOr<v1::RegionPlan> PlanRegion(const Graph& graph,
                                          const Placement& placement,
                                          int64_t bytes);

// Its cycles, of the engine's clock, for less work.
absl::StatusOr<int64_t> EstimateRegion(const Graph& graph,
                                       const Placement& placement,
                                       int64_t bytes);

// RESOURCE_EXHAUSTED: `need` bytes for an op where there are `bytes`.
absl::Status MemoryTooSmall(const Graph& graph, int32_t op,
                            const v1::ResolvedMemory& memory, int64_t bytes,
                            int64_t need);

// What a plan says was decided. INVALID_ARGUMENT if it is another engine's, or
// about another op.
absl::StatusOr<Decision> DecisionOf(const Operation& operation,
                                    const v1::RegionPlan& plan);

}  // namespace edgekiln::compiler::register_job

#endif  // EK_COMPILER_ENGINES_REGISTER_JOB_PLANNER_H_
