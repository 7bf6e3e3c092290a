#ifndef EK_COMPILER_ENGINES_DLA_SUBGRAPH_H_
#define EK_COMPILER_ENGINES_DLA_SUBGRAPH_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/engines/dla/planner.h"
#include "edgekiln/v1/program.pb.h"
#include "edgekiln/v1/tiling.pb.h"

// The DLA's half of the two last compiler stages, subgraph by subgraph.
namespace edgekiln::compiler::dla {

// Layers of the ops `ops` (indices into graph.ops, in order).
absl::StatusOr<SubgraphInput> InputOfOps(const Graph& graph,
                                         const std::vector<int32_t>& ops);

// PlanSubgraph, as it is stored; the caller sets subgraph and engine.
absl::StatusOr<v1::TilingPlan::Subgraph> TileSubgraph(
    const Chip& chip, const SubgraphInput& input);

// The inverse. INVALID_ARGUMENT if the message is not about these layers.
absl::StatusOr<SubgraphPlan> PlanFromProto(
    const SubgraphInput& input, const v1::TilingPlan::Subgraph& stored);

// What a subgraph adds to a program.
struct EmittedSubgraph {
  std::string code;
  std::string blocks;  // Flash content, from system.blocks.
  struct Tap {
    v1::Program::Tap tap;  // `stream` and `layout` are left to the caller.
    v1::Layout layout;
  };
  std::vector<Tap> taps;
  std::vector<v1::Program::CommandRange> ranges;  // Without `stream`, too.
  struct LayerUse {
    int32_t op = 0;
    int64_t sram_bytes = 0;
    int32_t tiles = 0;
    int64_t cycles = 0;  // Predicted, of the engine's clock; they sum to all.
  };
  std::vector<LayerUse> layers;
  int64_t sram_peak_bytes = 0;
  int64_t cycles = 0;  // Predicted.
};
absl::StatusOr<EmittedSubgraph> EmitSubgraph(const Chip& chip,
                                             const SubgraphInput& input,
                                             const SubgraphPlan& plan,
                                             const SystemMap& system);

}  // namespace edgekiln::compiler::dla

#endif  // EK_COMPILER_ENGINES_DLA_SUBGRAPH_H_
