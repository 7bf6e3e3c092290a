#ifndef EK_COMPILER_ENGINES_DLA_SUBGRAPH_H_
#define EK_COMPILER_ENGINES_DLA_SUBGRAPH_H_

#include "absl/status/statusor.h"
#include "compiler/engines/backend.h"
#include "compiler/engines/dla/planner.h"
#include "edgekiln/v1/tiling.pb.h"
#include "google/protobuf/any.pb.h"

// The two last compiler stages on the DLA, subgraph by subgraph.
namespace edgekiln::compiler::dla {

absl::StatusOr<SubgraphInput> InputOfRegion(const Region& region);

// PlanSubgraph, as it is stored; the caller sets subgraph and engine.
// `decisions` are the engine's part of a recipe, empty if it has none;
// INVALID_ARGUMENT if they are not this engine's.
absl::StatusOr<v1::TilingPlan::Subgraph> TileSubgraph(
    const Chip& chip, const SubgraphInput& input,
    const google::protobuf::Any& decisions);

// The inverse. INVALID_ARGUMENT if the message is not about these layers.
absl::StatusOr<SubgraphPlan> PlanFromProto(
    const SubgraphInput& input, const v1::TilingPlan::Subgraph& stored);

absl::StatusOr<RegionCode> EmitSubgraph(const Chip& chip,
                                        const SubgraphInput& input,
                                        const SubgraphPlan& plan,
                                        const SystemMap& system);

}  // namespace edgekiln::compiler::dla

#endif  // EK_COMPILER_ENGINES_DLA_SUBGRAPH_H_
