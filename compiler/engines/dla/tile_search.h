#ifndef EK_COMPILER_ENGINES_DLA_TILE_SEARCH_H_
#define EK_COMPILER_ENGINES_DLA_TILE_SEARCH_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/engines/dla/chip.h"
#include "compiler/engines/dla/layer.h"

// How one layer is cut: into tiles of rows and output channels, in an order.
namespace edgekiln::compiler::dla {

enum class TileOrder {
  kChannelsOuter,  // Each block of weights is read once.
  kRowsOuter,      // Each input row is read once.
};

struct Tiling {
  int64_t rows = 1;      // Output rows per tile; the last tile may have fewer.
  int64_t channels = 1;  // Output channels per tile, alike.
  TileOrder order = TileOrder::kChannelsOuter;
  bool operator==(const Tiling&) const = default;
};

// The tiles in order of execution: slices of layer.out.
std::vector<Slice> TilesOf(const Layer& layer, const Tiling& tiling);

// Which of a layer's tensors stay in SRAM as a whole; the others pass through
// system memory tile by tile.
struct Residency {
  bool input = false;
  bool input2 = false;
  bool output = false;
  bool operator==(const Residency&) const = default;
};

// Bytes of SRAM that one tile needs beside whole tensors: its block, its input
// slices, its output slice; the largest tile of the tiling.
int64_t TileBytes(const Layer& layer, const Tiling& tiling,
                  const Residency& residency);

// The least SRAM with which the layer can run at all: one row of one output
// channel, nothing resident.
int64_t SmallestSram(const Layer& layer);

struct TilingCost {
  Tiling tiling;
  int64_t cycles = 0;  // Estimate: the slower of computing and moving.
};

// The cheapest tiling whose buffers, doubled where that overlaps work, fit
// `budget_bytes`; without `double_buffer` each buffer counts once. Empty if
// none fits.
absl::StatusOr<std::optional<TilingCost>> BestTiling(const Chip& chip,
                                                     const Layer& layer,
                                                     const Residency& residency,
                                                     int64_t budget_bytes,
                                                     bool double_buffer);

}  // namespace edgekiln::compiler::dla

#endif  // EK_COMPILER_ENGINES_DLA_TILE_SEARCH_H_
