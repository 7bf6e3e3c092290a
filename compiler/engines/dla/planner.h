#ifndef EK_COMPILER_ENGINES_DLA_PLANNER_H_
#define EK_COMPILER_ENGINES_DLA_PLANNER_H_

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "compiler/engines/dla/chip.h"
#include "compiler/engines/dla/plan_timing.h"
#include "compiler/engines/dla/schedule.h"
#include "edgekiln/v1/engines/dla.pb.h"

namespace edgekiln::compiler::dla {

// Layers of one subgraph and what the graph around it needs of them.
struct SubgraphInput {
  const Graph* graph = nullptr;
  std::vector<Layer> layers;
  std::vector<TensorId> storage;           // StorageOf(*graph).
  absl::flat_hash_set<TensorId> external;  // By storage.
};

// RESOURCE_EXHAUSTED if one of these layers of `graph` needs more than the
// chip's SRAM even for its smallest tile; names the layer that needs the most
// and the smallest sufficient SRAM.
absl::Status CheckSmallestSram(const Chip& chip, const Graph& graph,
                               const std::vector<Layer>& layers,
                               Cuts cuts = {});

// Decides tilings, which layers are chained, which tensors stay in SRAM, and
// how far loads run ahead, for few cycles (docs/design/0002-dla-scheduling.md).
// RESOURCE_EXHAUSTED names the layer that needs the most and the smallest
// sufficient SRAM: with that many bytes a plan exists, with one less none is
// looked for; or, with reason STREAM_TOO_LONG, the layer with the most
// commands, as a stream has a limited number of them, and a size that is
// enough. A serial `recipe` tries the frugal plans alone, one of channels only
// tiles of all rows; the same holds of them.
absl::StatusOr<TimedPlan> PlanSubgraph(const Chip& chip,
                                       const SubgraphInput& input,
                                       const v1::dla::TileRecipe& recipe);

// Cycles of such a plan without a recipe, by the costs that tilings are chosen
// by: no layer hides anything of its neighbours. Errors as above.
absl::StatusOr<int64_t> EstimateSubgraph(const Chip& chip,
                                         const SubgraphInput& input);

}  // namespace edgekiln::compiler::dla

#endif  // EK_COMPILER_ENGINES_DLA_PLANNER_H_
