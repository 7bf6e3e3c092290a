#include <map>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "base/status_macros.h"
#include "compiler/codegen/compile.h"
#include "compiler/engines/dla/subgraph.h"

namespace edgekiln::compiler {

namespace {

// What the recipe has for that engine of the machine; empty if nothing.
google::protobuf::Any DecisionsFor(const v1::TileRecipe& recipe,
                                   int32_t engine) {
  for (const v1::TileRecipe::Engine& part : recipe.engines()) {
    if (part.engine() == engine) return part.decisions();
  }
  return {};
}

}  // namespace

absl::StatusOr<v1::TilingPlan> TilePartition(const v1::Partition& partition,
                                             const v1::Machine& machine,
                                             const v1::TileRecipe& recipe) {
  EK_ASSIGN_OR_RETURN(const Graph graph, GraphFromProto(partition.graph()));
  if (partition.placements_size() != static_cast<int>(graph.ops.size())) {
    return absl::InvalidArgumentError("the partition misses placements");
  }
  // Ops of each engine subgraph, in order.
  std::map<int32_t, std::vector<int32_t>> subgraphs;
  std::map<int32_t, int32_t> engines;
  for (int32_t i = 0; i < partition.placements_size(); ++i) {
    const v1::Partition::Placement& placement = partition.placements(i);
    if (placement.op() != i) {
      return absl::InvalidArgumentError("placements are out of order");
    }
    if (placement.engine() < 0) continue;
    subgraphs[placement.subgraph()].push_back(i);
    engines[placement.subgraph()] = placement.engine();
  }
  v1::TilingPlan plan;
  for (const auto& [subgraph, ops] : subgraphs) {
    EK_ASSIGN_OR_RETURN(const dla::Chip chip,
                        dla::Chip::Create(machine, engines[subgraph]));
    EK_ASSIGN_OR_RETURN(const dla::SubgraphInput input,
                        dla::InputOfOps(graph, ops));
    EK_ASSIGN_OR_RETURN(
        v1::TilingPlan::Subgraph stored,
        dla::TileSubgraph(chip, input,
                          DecisionsFor(recipe, engines[subgraph])));
    stored.set_subgraph(subgraph);
    stored.set_engine(engines[subgraph]);
    *plan.add_subgraphs() = std::move(stored);
  }
  return plan;
}

}  // namespace edgekiln::compiler
