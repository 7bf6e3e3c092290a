#ifndef EK_COMPILER_ENGINES_DLA_RETILING_H_
#define EK_COMPILER_ENGINES_DLA_RETILING_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "compiler/engines/dla/chip.h"
#include "compiler/engines/dla/plan_timing.h"
#include "compiler/engines/dla/planner.h"
#include "compiler/engines/dla/tiling.h"

namespace edgekiln::compiler::dla {

// Compute commands of a short plan, at most.
inline constexpr int64_t kShortPlan = 96;

// Cuts single layers of a short plan in other ways, the last layer first, and
// keeps each cut that makes the timed plan better: what nothing hides at the
// ends of a stream, or behind the DMA, is no part of a tiling's estimate. Then
// tries other residents, numbers of buffers and tile orders, likewise. Stops
// within a part of `bound_cycles`, or after a number of commands that depends
// on nothing but the plan. Long plans, to which this matters little, stay as
// they are. The schedule is left in `scratch`, whose memory it takes.
absl::StatusOr<TimedPlan> Retile(const Chip& chip, const SubgraphInput& input,
                                 const Cuts& cuts, TimedPlan plan,
                                 int64_t bound_cycles, Schedule& scratch);

}  // namespace edgekiln::compiler::dla

#endif  // EK_COMPILER_ENGINES_DLA_RETILING_H_
