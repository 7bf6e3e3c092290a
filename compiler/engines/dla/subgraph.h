#ifndef EK_COMPILER_ENGINES_DLA_SUBGRAPH_H_
#define EK_COMPILER_ENGINES_DLA_SUBGRAPH_H_

#include "absl/status/statusor.h"
#include "compiler/engines/backend.h"
#include "compiler/engines/dla/planner.h"

// The two last compiler stages on the DLA, subgraph by subgraph.
namespace edgekiln::compiler::dla {

absl::StatusOr<SubgraphInput> InputOfRegion(const Chip& chip,
                                            const Region& region);

absl::StatusOr<RegionCode> EmitSubgraph(const Chip& chip,
                                        const SubgraphInput& input,
                                        const SubgraphPlan& plan,
                                        const SystemMap& system);

}  // namespace edgekiln::compiler::dla

#endif  // EK_COMPILER_ENGINES_DLA_SUBGRAPH_H_
