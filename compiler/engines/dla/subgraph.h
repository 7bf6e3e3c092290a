#ifndef EK_COMPILER_ENGINES_DLA_SUBGRAPH_H_
#define EK_COMPILER_ENGINES_DLA_SUBGRAPH_H_

#include "absl/status/statusor.h"
#include "compiler/engines/backend.h"
#include "compiler/engines/dla/planner.h"
#include "edgekiln/v1/engines/dla.pb.h"
#include "edgekiln/v1/tiling.pb.h"

// The two last compiler stages on the DLA, subgraph by subgraph.
namespace edgekiln::compiler::dla {

absl::StatusOr<SubgraphInput> InputOfRegion(const Chip& chip,
                                            const Region& region);

// A plan as it is stored; the caller sets region and engine.
v1::RegionPlan PlanToProto(const Chip& chip, const SubgraphInput& input,
                           const TimedPlan& timed);

// The inverse; `decisions` are those of `stored`. INVALID_ARGUMENT if they are
// not about these layers.
absl::StatusOr<SubgraphPlan> PlanFromProto(
    const SubgraphInput& input, const v1::RegionPlan& stored,
    const v1::dla::RegionDecisions& decisions);

absl::StatusOr<RegionCode> EmitSubgraph(const Chip& chip,
                                        const SubgraphInput& input,
                                        const SubgraphPlan& plan,
                                        const SystemMap& system);

}  // namespace edgekiln::compiler::dla

#endif  // EK_COMPILER_ENGINES_DLA_SUBGRAPH_H_
