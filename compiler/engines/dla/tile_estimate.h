#ifndef EK_COMPILER_ENGINES_DLA_TILE_ESTIMATE_H_
#define EK_COMPILER_ENGINES_DLA_TILE_ESTIMATE_H_

#include <cstdint>
#include <optional>
#include <tuple>

#include "compiler/engines/dla/chip.h"
#include "compiler/engines/dla/layer.h"
#include "compiler/engines/dla/tiling.h"
#include "compiler/engines/dla/tiling_costs.h"

// The cycles that tilings are compared by before any is scheduled.
namespace edgekiln::compiler::dla {

struct TilingCost {
  Tiling tiling;
  int64_t cycles = 0;      // Estimate: what overlaps, and what cannot.
  int64_t dma_bytes = 0;   // Both ways.
  int64_t sram_bytes = 0;  // Of its buffers.
  int64_t transfers = 0;
  int64_t block_bytes = 0;  // Of dma_bytes, those of blocks.
  bool operator<(const TilingCost& other) const {
    return std::tie(cycles, dma_bytes) <
           std::tie(other.cycles, other.dma_bytes);
  }
};

// What the estimate of a tiling's cycles takes into account.
struct Estimate {
  // Blocks that all have a buffer at once cost nothing: they arrive while the
  // layers before compute.
  bool early_blocks = false;
  // Where blocks are read again for each tile, those at the last rows and
  // columns may have too few pixels to hide that.
  bool small_tiles = false;
  bool operator==(const Estimate&) const = default;
};

// What is asked for: which tensors are resident, how many bytes the layer's
// buffers may take, and whether moves and computation take turns.
struct TilingQuery {
  Residency residency;
  int64_t budget_bytes = 0;
  bool serial = false;
  Estimate estimate;
};

// The cheapest choice of buffers for a tiling, whose own choice does not count;
// empty if none fits. An operand with one tile has one buffer.
std::optional<TilingCost> CostOf(const Chip& chip, const Layer& layer,
                                 const Tiling& tiling, const Work& work,
                                 int64_t compute_cycles,
                                 const TilingQuery& query);

}  // namespace edgekiln::compiler::dla

#endif  // EK_COMPILER_ENGINES_DLA_TILE_ESTIMATE_H_
