#ifndef EK_COMPILER_ENGINES_DLA_TESTING_SMALL_NETWORKS_H_
#define EK_COMPILER_ENGINES_DLA_TESTING_SMALL_NETWORKS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/rng.h"
#include "compiler/engines/dla/chip.h"
#include "compiler/engines/dla/planner.h"
#include "compiler/engines/dla/schedule.h"
#include "compiler/engines/dla/tile_search.h"
#include "compiler/engines/dla/tiling.h"
#include "compiler/ir/graph.h"

// For tests: random layers so small that all their plans can be tried.
namespace edgekiln::compiler::dla {

// A preset of 8 PEs; `more`: settings of its parameters.
Chip TestChip(bool output_parallel, int64_t sram_bytes,
              const std::string& more = "");

// Settings of what commands and transfers cost.
std::string RandomCosts(Rng& rng);

// Each layer reads one of the last three tensors, or, if `tall`, the last one,
// which has more rows than others: with windows that cover all of it, leave a
// border out, or leave gaps; by channel, or summed up. `graph` must outlive it.
SubgraphInput RandomNet(Rng& rng, int layers, bool tall, const Graph& graph);

// Layers of a few pixels and channels, each of which reads the one before; an
// addition reads an earlier tensor as well. At most seven.
SubgraphInput RandomTinyNet(Rng& rng, int layers, const Graph& graph);

// One layer of any kind, with any stride, padding and dilation.
SubgraphInput RandomLayer(Rng& rng, const Graph& graph);

// Of each of its layers, with all cuts.
std::vector<TilingSearch> SearchesOf(const Chip& chip,
                                     const SubgraphInput& input);

// All tilings of a layer, each with one buffer and with several of every
// operand.
std::vector<Tiling> AllTilings(const Chip& chip, const Layer& layer);

// Those of AllTilings() of one layer that differ in what is computed or loaded,
// in which order, or in the buffers for it.
std::vector<Tiling> DistinctTilings(const Chip& chip,
                                    const SubgraphInput& input, size_t layer);

// Nothing stays, one tile each.
SubgraphPlan EmptyPlan(const SubgraphInput& input);

// The fewest cycles of a plan, by trying to run loads ahead and not to. Empty
// if it does not fit.
std::optional<int64_t> CyclesOf(const Chip& chip, const SubgraphInput& input,
                                const SubgraphPlan& plan);

}  // namespace edgekiln::compiler::dla

#endif  // EK_COMPILER_ENGINES_DLA_TESTING_SMALL_NETWORKS_H_
