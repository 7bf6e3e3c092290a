#ifndef EK_COMPILER_ENGINES_DLA_TILE_SEARCH_H_
#define EK_COMPILER_ENGINES_DLA_TILE_SEARCH_H_

#include <array>
#include <cstdint>
#include <optional>
#include <tuple>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "compiler/engines/dla/chip.h"
#include "compiler/engines/dla/layer.h"

// How one layer is cut: into tiles of rows and output channels, in an order,
// with one or two buffers for each operand.
namespace edgekiln::compiler::dla {

enum class TileOrder {
  kChannelsOuter,  // Each block of weights is read once.
  kRowsOuter,      // Each input row is read once.
};

struct Tiling {
  int64_t rows = 1;      // Output rows per tile; the last tile may have fewer.
  int64_t channels = 1;  // Output channels per tile, alike.
  TileOrder order = TileOrder::kChannelsOuter;
  // Which operands have two buffers: one is filled or stored while the other is
  // computed with.
  bool double_input = false;  // Both inputs of an addition.
  bool double_block = false;
  bool double_output = false;
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

// Along what layers may be cut.
struct Cuts {
  // 0: rows and channels. Else channels alone: a tile has all rows, or this
  // many where a command can have no more.
  int64_t all_rows_up_to = 0;
  bool channels_only() const { return all_rows_up_to > 0; }
};

// One row, or all, of one output channel.
Tiling SmallestTiling(const Layer& layer, Cuts cuts);
// The least SRAM with which the layer can run at all: the smallest tile,
// nothing resident.
int64_t SmallestSram(const Layer& layer, Cuts cuts = {});

// Buffers that operands take turns in begin and end at multiples of this.
inline constexpr int64_t kSlotAlignment = 4;

struct TilingCost {
  Tiling tiling;
  int64_t cycles = 0;      // Estimate: what overlaps, and what cannot.
  int64_t dma_bytes = 0;   // Both ways.
  int64_t sram_bytes = 0;  // Of its buffers.
  bool operator<(const TilingCost& other) const {
    return std::tie(cycles, dma_bytes) <
           std::tie(other.cycles, other.dma_bytes);
  }
};

// Finds tilings of one layer, and remembers what they cost. Not thread-safe.
// `chip` and `layer` must outlive it.
class TilingSearch {
 public:
  TilingSearch(const Chip& chip, const Layer& layer, Cuts cuts = {});

  // The cheapest tiling whose buffers fit `budget_bytes`. An operand has two
  // buffers where that hides its transfers and there is room, else one. Empty
  // if none fits.
  absl::StatusOr<std::optional<TilingCost>> Best(const Residency& residency,
                                                 int64_t budget_bytes);
  // The same if nothing is resident, nothing overlaps, and each operand has one
  // buffer.
  absl::StatusOr<std::optional<TilingCost>> BestSerial(int64_t budget_bytes);

 private:
  // A size of tiles along the rows, and what it means for the input.
  struct RowCut {
    int64_t rows = 0;
    int64_t tiles = 0;
    int64_t first_input_rows = 0;
    int64_t most_input_rows = 0;
    int64_t all_input_rows = 0;  // Of all tiles, with what they share.
  };
  struct ChannelCut {
    int64_t channels = 0;
    int64_t tiles = 0;
    int64_t input_channels = 0;  // Of one tile.
    int64_t block_bytes = 0;
  };
  // The layer's operands in one tiling: bytes, and cycles of moving them.
  struct Operand {
    int64_t tile_bytes = 0;
    int64_t all_bytes = 0;
    int64_t transfers = 0;
    int64_t buffers_used = 0;  // How often another tile takes its buffer.
    int64_t cycles = 0;
    int64_t exposed_cycles = 0;  // Before the first tile, or after the last.
  };
  struct Work {
    Operand input;
    Operand block;
    Operand output;
  };

  RowCut CutRows(int64_t rows) const;
  ChannelCut CutChannels(int64_t channels) const;
  Work WorkOf(const RowCut& rows, const ChannelCut& channels, TileOrder order,
              const Residency& residency) const;
  absl::StatusOr<int64_t> ComputeCycles(size_t row_cut, size_t channel_cut);
  absl::Status Consider(size_t row_cut, size_t channel_cut, TileOrder order,
                        const Residency& residency, int64_t budget_bytes,
                        bool serial, std::optional<TilingCost>& best);
  absl::StatusOr<std::optional<TilingCost>> Search(const Residency& residency,
                                                   int64_t budget_bytes,
                                                   bool serial);
  int64_t DmaCycles(int64_t transfers, int64_t bytes) const;

  const Chip& chip_;
  const Layer& layer_;
  std::vector<RowCut> row_cuts_;          // Large ones first.
  std::vector<ChannelCut> channel_cuts_;  // Alike.
  // By row cut and channel cut; negative: not known yet.
  std::vector<int64_t> compute_cycles_;
  // What was found within a budget. It is also the cheapest within any smaller
  // one that has room for it.
  struct Found {
    int64_t budget_bytes = 0;
    std::optional<TilingCost> cost;
  };
  std::array<std::vector<Found>, 8> found_;  // By residency.
};

}  // namespace edgekiln::compiler::dla

#endif  // EK_COMPILER_ENGINES_DLA_TILE_SEARCH_H_
