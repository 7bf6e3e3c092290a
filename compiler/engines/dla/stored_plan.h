#ifndef EK_COMPILER_ENGINES_DLA_STORED_PLAN_H_
#define EK_COMPILER_ENGINES_DLA_STORED_PLAN_H_

#include "absl/status/statusor.h"
#include "compiler/engines/dla/planner.h"
#include "edgekiln/v1/engines/dla.pb.h"
#include "edgekiln/v1/tiling.pb.h"

// Plans of subgraphs between the stages `tile` and `emit`. They come from a
// store: bytes are hostile.
namespace edgekiln::compiler::dla {

// A plan as it is stored; the caller sets region and engine.
v1::RegionPlan PlanToProto(const Chip& chip, const SubgraphInput& input,
                           const TimedPlan& timed);

// The inverse; `decisions` are those of `stored`. INVALID_ARGUMENT if they are
// not about these layers.
absl::StatusOr<SubgraphPlan> PlanFromProto(
    const Chip& chip, const SubgraphInput& input, const v1::RegionPlan& stored,
    const v1::dla::RegionDecisions& decisions);

}  // namespace edgekiln::compiler::dla

#endif  // EK_COMPILER_ENGINES_DLA_STORED_PLAN_H_
