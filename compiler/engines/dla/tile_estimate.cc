#include "compiler/engines/dla/tile_estimate.h"

#include <algorithm>
#include <array>

#include "base/rounding.h"
#include "compiler/engines/dla/cycle_limit.h"

namespace edgekiln::compiler::dla {
namespace {

// What tiles at the last rows and columns take longer, where they are smaller
// and blocks are read again for them: each kind of them moves beyond its
// computation, or computes beyond its transfers. Rounded down only once, so
// that a layer with it never takes less where computation or transfers take
// more.
struct SmallTiles {
  int64_t moving = 0;
  int64_t computing = 0;
};
SmallTiles SmallTilesOf(const Layer& layer, const Tiling& tiling,
                        const Work& work, int64_t compute_cycles) {
  const bool blocks_again = InputsPerStep(layer, tiling) < layer.in.c ||
                            (tiling.order == TileOrder::kPixelsOuter &&
                             tiling.channels < layer.out.c);
  if (!blocks_again) return {};
  const AxisCut rows = Cut(layer.out.h, tiling.rows);
  const AxisCut columns = Cut(layer.out.w, tiling.columns);
  const int64_t tiles = rows.tiles * columns.tiles;
  const int64_t pixels = layer.out.h * layer.out.w;
  const auto& [input, block, output] = work.operands;
  // Cycles, times all tiles and all pixels: a tensor has less than 2^32 bytes.
  __int128 moving = 0;
  __int128 computing = 0;
  const auto add = [&](int64_t of_tiles, int64_t of_pixels) {
    const __int128 more =
        __int128{block.cycles} * of_tiles * pixels +
        __int128{input.cycles + output.cycles - compute_cycles} * of_pixels *
            tiles;
    (more > 0 ? moving : computing) += more > 0 ? more : -more;
  };
  const bool last_row = rows.last < rows.size;
  const bool last_column = columns.last < columns.size;
  const int64_t full_rows = rows.tiles - (last_row ? 1 : 0);
  const int64_t full_columns = columns.tiles - (last_column ? 1 : 0);
  if (last_row) add(full_columns, full_columns * columns.size * rows.last);
  if (last_column) add(full_rows, full_rows * rows.size * columns.last);
  if (last_row && last_column) add(1, rows.last * columns.last);
  const __int128 whole = __int128{tiles} * pixels;
  return {LimitCycles(moving / whole), LimitCycles(computing / whole)};
}

}  // namespace

std::optional<TilingCost> CostOf(const Chip& chip, const Layer& layer,
                                 const Tiling& tiling, const Work& work,
                                 int64_t compute_cycles,
                                 const TilingQuery& query) {
  std::optional<TilingCost> best;
  const bool never_overlaps = query.serial || chip.blocking_dma();
  const bool exact = query.serial && !IsAligned(layer, tiling);
  const OperandWork& block = work.operands[1];
  int64_t bytes = work.sums_bytes;
  int64_t exposed = 0;
  // Which operands can use a second buffer, as bits; what that takes, and what
  // is not hidden without.
  int usable = 0;
  std::array<int64_t, 3> second{};
  std::array<int64_t, 3> bare{};
  for (int i = 0; i < 3; ++i) {
    const OperandWork& operand = work.operands[i];
    second[i] = RoundUp(operand.buffer_bytes, kSlotAlignment);
    bytes += exact ? operand.buffer_bytes : second[i];
    // Where nothing overlaps all moves count already.
    if (never_overlaps) continue;
    exposed += operand.exposed_cycles;
    if (operand.buffers_used < 2) continue;
    usable |= 1 << i;
    bare[i] = operand.cycles - operand.exposed_cycles;
  }
  if (bytes > query.budget_bytes) return best;
  TilingCost cost = {.tiling = tiling,
                     .dma_bytes = work.dma_bytes(),
                     .block_bytes = block.all_bytes};
  for (const OperandWork& operand : work.operands) {
    cost.transfers += operand.transfers;
  }
  SmallTiles small;
  if (query.estimate.small_tiles && !never_overlaps) {
    small = SmallTilesOf(layer, tiling, work, compute_cycles);
  }
  // Which operands have a second buffer: all sets of those that can use one.
  for (int doubled = usable;; doubled = (doubled - 1) & usable) {
    const bool early = query.estimate.early_blocks && !never_overlaps &&
                       block.buffers_used <= ((doubled & 2) != 0 ? 2 : 1);
    const int64_t moving = work.moving_cycles() - (early ? block.cycles : 0);
    int64_t taken = bytes;
    int64_t alone = never_overlaps ? moving : 0;  // While nothing computes.
    for (int i = 0; i < 3; ++i) {
      ((doubled >> i & 1) != 0 ? taken : alone) +=
          (doubled >> i & 1) != 0 ? second[i] : bare[i];
    }
    if (taken <= query.budget_bytes) {
      cost.sram_bytes = taken;
      cost.cycles = std::max(compute_cycles + small.moving + alone,
                             moving + small.computing) +
                    exposed - (early ? block.exposed_cycles : 0);
      cost.tiling.double_input = (doubled & 1) != 0;
      cost.tiling.double_block = (doubled & 2) != 0;
      cost.tiling.double_output = (doubled & 4) != 0;
      if (!best || cost < *best) best = cost;
    }
    if (doubled == 0) return best;
  }
}

}  // namespace edgekiln::compiler::dla
