#ifndef EK_COMPILER_ENGINES_DLA_READ_ONCE_H_
#define EK_COMPILER_ENGINES_DLA_READ_ONCE_H_

#include "absl/status/statusor.h"
#include "compiler/engines/dla/chip.h"
#include "compiler/engines/dla/plan_timing.h"
#include "compiler/engines/dla/planner.h"
#include "compiler/engines/dla/schedule.h"
#include "compiler/engines/dla/tiling.h"

namespace edgekiln::compiler::dla {

// Where all that the subgraph makes stays in SRAM, what comes from outside is
// read once, as a whole, if that takes one part in 100 000 of the plan's cycles
// at most: tiles that compute earlier read what they share twice. The schedule
// is left in `scratch`, whose memory it takes.
absl::StatusOr<TimedPlan> ReadOnce(const Chip& chip, const SubgraphInput& input,
                                   const Cuts& cuts, TimedPlan plan,
                                   Schedule& scratch);

}  // namespace edgekiln::compiler::dla

#endif  // EK_COMPILER_ENGINES_DLA_READ_ONCE_H_
