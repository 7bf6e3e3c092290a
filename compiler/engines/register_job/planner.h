#ifndef EK_COMPILER_ENGINES_REGISTER_JOB_PLANNER_H_
#define EK_COMPILER_ENGINES_REGISTER_JOB_PLANNER_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "compiler/engines/backend.h"
#include "compiler/engines/register_job/choice_memo.h"
#include "compiler/engines/register_job/placement.h"
#include "compiler/engines/register_job/sequence.h"
#include "compiler/engines/register_job/tile_costs.h"
#include "edgekiln/v1/engines/register_job.pb.h"
#include "edgekiln/v1/tiling.pb.h"

namespace edgekiln::compiler::register_job {

using v1::register_job::TileDecisions;

// The fastest plan found that uses at most `bytes` of the engine's memory;
// engine and ops are not set. `decisions` are a
// recipe's. RESOURCE_EXHAUSTED names op, memory and the bytes
// that suffice. `memo` is of the machine.
absl::StatusOr<v1::RegionPlan> PlanRegion(const Graph& graph,
                                          Placement placement, int64_t bytes,
                                          const TileDecisions& decisions,
                                          ChoiceMemo& memo);

// Cycles of that plan, of the engine's clock, without building it.
absl::StatusOr<int64_t> EstimateRegion(const Graph& graph, Placement placement,
                                       int64_t bytes, ChoiceMemo& memo);

// What the plan needs of RegionMemory.step_room: the record of a job at its
// begin, then what the host's code rearranges.
struct StepRoom {
  int64_t array_offset = 0;
  int64_t bytes = 0;
};
StepRoom StepRoomOf(const Chip& chip, const TileNeeds& needs);

// Makes a RESOURCE_EXHAUSTED error: the op needs `need` bytes, or more if it is
// `at_least`; there are `bytes`.
absl::Status MemoryTooSmall(const Graph& graph, int32_t op,
                            const v1::ResolvedMemory& memory, int64_t bytes,
                            int64_t need, bool at_least);

// What a plan decided of its placement. Errors as below.
struct Form {
  bool dense_blocks = false;
  bool by_row = false;
  int64_t input_channels_multiple = 0;
};
absl::StatusOr<Form> FormOf(const v1::RegionPlan& plan);

// The decision recorded in a plan. INVALID_ARGUMENT if the plan is of another
// engine model or op.
absl::StatusOr<Decision> DecisionOf(const Operation& operation,
                                    const v1::RegionPlan& plan);

}  // namespace edgekiln::compiler::register_job

#endif  // EK_COMPILER_ENGINES_REGISTER_JOB_PLANNER_H_
