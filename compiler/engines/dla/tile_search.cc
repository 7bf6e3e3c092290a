#include "compiler/engines/dla/tile_search.h"

#include <algorithm>
#include <set>

#include "base/rounding.h"
#include "base/status_macros.h"
#include "compiler/engines/dla/compute_command.h"

namespace edgekiln::compiler::dla {
namespace {

int64_t SliceBytes(const Slice& slice, int64_t width) {
  return slice.rows() * width * slice.channels();
}

// Input bytes of one tile; twice that for an addition of two streamed tensors.
int64_t InputBytes(const Layer& layer, const Slice& tile,
                   const Residency& residency) {
  const int64_t bytes = SliceBytes(InputOf(layer, tile).slice, layer.in.w);
  const bool second = layer.op == LayerOp::kAdd && !residency.input2;
  return (residency.input ? 0 : bytes) + (second ? bytes : 0);
}

int StreamedInputs(const Layer& layer, const Residency& residency) {
  return (residency.input ? 0 : 1) +
         (layer.op == LayerOp::kAdd && !residency.input2 ? 1 : 0);
}

// A block that loads in less than this fraction of its layer's time is hidden.
constexpr int64_t kSmallBlock = 8;

// Sizes worth trying for an axis of `extent`: even cuts, rounded up to
// multiples of `grain`, down to 1.
std::vector<int64_t> Sizes(int64_t extent, int64_t grain) {
  std::set<int64_t> sizes = {extent, 1};
  for (int64_t cuts = 2; cuts < extent * 2; cuts = cuts * 3 / 2 + 1) {
    const int64_t size = CeilDiv(extent, cuts);
    sizes.insert(size);
    sizes.insert(std::min(extent, RoundUp(size, grain)));
  }
  return {sizes.rbegin(), sizes.rend()};
}

// A depthwise tile must not begin or end inside the outputs of one input
// channel unless it lies within them altogether.
bool Legal(const Layer& layer, int64_t channels) {
  const int64_t multiplier = layer.depth_multiplier;
  return channels == layer.out.c || channels % multiplier == 0 ||
         multiplier % channels == 0;
}

// What all tiles of a layer cost together.
struct Work {
  int64_t compute_cycles = 0;
  int64_t dma_cycles = 0;
  int64_t exposed_cycles = 0;  // Before the first tile and after the last.
};

int64_t DmaCycles(const Chip& chip, int64_t transfers, int64_t bytes) {
  return transfers * chip.dma_setup_cycles() +
         CeilDiv(bytes, chip.dma_bytes_per_cycle());
}

class CostModel {
 public:
  CostModel(const Chip& chip, const Layer& layer, const Residency& residency)
      : chip_(chip), layer_(layer), residency_(residency) {}

  absl::StatusOr<int64_t> Cycles(const Tiling& tiling) {
    Work work;
    EK_RETURN_IF_ERROR(AddCompute(tiling, work));
    AddTransfers(tiling, work);
    const int64_t both = chip_.blocking_dma()
                             ? work.compute_cycles + work.dma_cycles
                             : std::max(work.compute_cycles, work.dma_cycles);
    return both + work.exposed_cycles;
  }

 private:
  // Tiles come in at most four shapes: full or last in rows, in channels.
  absl::Status AddCompute(const Tiling& tiling, Work& work) const {
    const int64_t row_tiles = CeilDiv(layer_.out.h, tiling.rows);
    const int64_t channel_tiles = CeilDiv(layer_.out.c, tiling.channels);
    const int64_t last_row = (row_tiles - 1) * tiling.rows;
    const int64_t last_channel = (channel_tiles - 1) * tiling.channels;
    const struct {
      int64_t h, h_end, c, c_end, count;
    } shapes[] = {
        {0, tiling.rows, 0, tiling.channels,
         (row_tiles - 1) * (channel_tiles - 1)},
        {last_row, layer_.out.h, 0, tiling.channels, channel_tiles - 1},
        {0, tiling.rows, last_channel, layer_.out.c, row_tiles - 1},
        {last_row, layer_.out.h, last_channel, layer_.out.c, 1},
    };
    for (const auto& shape : shapes) {
      if (shape.count == 0) continue;
      const ComputeCommand command = ComputeSlice(
          layer_, {shape.h, shape.h_end, shape.c, shape.c_end}, {});
      EK_ASSIGN_OR_RETURN(
          const int64_t cycles,
          chip_.OccupancyCycles(command.command, command.registers));
      // A command is never faster than its decoding and a few registers.
      const int64_t issue = 2 * chip_.IssueCycles(command.command);
      work.compute_cycles += shape.count * std::max(cycles, issue);
    }
    return absl::OkStatus();
  }

  void AddTransfers(const Tiling& tiling, Work& work) const {
    const int64_t row_tiles = CeilDiv(layer_.out.h, tiling.rows);
    const int64_t channel_tiles = CeilDiv(layer_.out.c, tiling.channels);
    const bool rows_outer = tiling.order == TileOrder::kRowsOuter;
    int64_t transfers = 0;
    int64_t bytes = 0;
    if (const int streamed = StreamedInputs(layer_, residency_); streamed > 0) {
      const int64_t once = InputBytesOfAllRows(tiling) * streamed;
      const bool again = !layer_.channelwise() && !rows_outer && row_tiles > 1;
      const int64_t passes = again ? channel_tiles : 1;
      bytes += once * passes;
      transfers += streamed * row_tiles *
                   (layer_.channelwise() ? channel_tiles : passes);
      work.exposed_cycles += DmaCycles(
          chip_, streamed, InputBytes(layer_, FirstTile(tiling), residency_));
    }
    if (layer_.has_weights()) {
      const int64_t passes = rows_outer && channel_tiles > 1 ? row_tiles : 1;
      bytes += BlockBytes(layer_, layer_.out.c) * passes;
      transfers += channel_tiles * passes;
      // The first block usually arrives while the layer before computes.
      work.exposed_cycles +=
          DmaCycles(chip_, 1, BlockBytes(layer_, tiling.channels)) / 4;
    }
    if (!residency_.output) {
      bytes += layer_.out.elements();
      transfers += row_tiles * channel_tiles;
      work.exposed_cycles +=
          DmaCycles(chip_, 1, SliceBytes(FirstTile(tiling), layer_.out.w));
    }
    work.dma_cycles = DmaCycles(chip_, transfers, bytes);
  }

  Slice FirstTile(const Tiling& tiling) const {
    return {0, std::min(tiling.rows, layer_.out.h), 0,
            std::min(tiling.channels, layer_.out.c)};
  }

  // One streamed tensor, every row tile's slice with its halo, all channels.
  int64_t InputBytesOfAllRows(const Tiling& tiling) const {
    int64_t rows = 0;
    for (int64_t h = 0; h < layer_.out.h; h += tiling.rows) {
      const Slice tile = {h, std::min(h + tiling.rows, layer_.out.h), 0,
                          layer_.out.c};
      rows += InputOf(layer_, tile).slice.rows();
    }
    return rows * layer_.in.row_elements();
  }

  const Chip& chip_;
  const Layer& layer_;
  const Residency& residency_;
};

// Buffers that are alive together when loads run one tile ahead.
int64_t DoubledBytes(const Layer& layer, const Tiling& tiling,
                     const Residency& residency) {
  const bool rows_cut = tiling.rows < layer.out.h;
  const bool channels_cut = tiling.channels < layer.out.c;
  const bool many = rows_cut || channels_cut;
  const bool inputs_change = rows_cut || (channels_cut && layer.channelwise());
  const int64_t block = BlockBytes(layer, tiling.channels);
  const int64_t in =
      TileBytes(layer, tiling, {residency.input, residency.input2, true}) -
      block;
  const int64_t out =
      TileBytes(layer, tiling, {true, true, residency.output}) - block;
  return in * (inputs_change ? 2 : 1) + block * (channels_cut ? 2 : 1) +
         out * (many ? 2 : 1);
}

}  // namespace

std::vector<Slice> TilesOf(const Layer& layer, const Tiling& tiling) {
  std::vector<Slice> tiles;
  const auto rows = [&](int64_t h) {
    return std::min(h + tiling.rows, layer.out.h);
  };
  const auto channels = [&](int64_t c) {
    return std::min(c + tiling.channels, layer.out.c);
  };
  if (tiling.order == TileOrder::kRowsOuter) {
    for (int64_t h = 0; h < layer.out.h; h += tiling.rows) {
      for (int64_t c = 0; c < layer.out.c; c += tiling.channels) {
        tiles.push_back({h, rows(h), c, channels(c)});
      }
    }
  } else {
    for (int64_t c = 0; c < layer.out.c; c += tiling.channels) {
      for (int64_t h = 0; h < layer.out.h; h += tiling.rows) {
        tiles.push_back({h, rows(h), c, channels(c)});
      }
    }
  }
  return tiles;
}

int64_t TileBytes(const Layer& layer, const Tiling& tiling,
                  const Residency& residency) {
  const int64_t rows = std::min(tiling.rows, layer.out.h);
  const int64_t channels = std::min(tiling.channels, layer.out.c);
  int64_t input = 0;
  for (int64_t h = 0; h < layer.out.h; h += rows) {
    const Slice tile = {h, std::min(h + rows, layer.out.h), 0, channels};
    input = std::max(input, InputBytes(layer, tile, residency));
  }
  const int64_t output = residency.output ? 0 : rows * layer.out.w * channels;
  return BlockBytes(layer, channels) + input + output;
}

int64_t SmallestSram(const Layer& layer) {
  if (layer.op == LayerOp::kAlias) return 0;
  return TileBytes(layer, {.rows = 1, .channels = 1}, {});
}

absl::StatusOr<std::optional<TilingCost>> BestTiling(const Chip& chip,
                                                     const Layer& layer,
                                                     const Residency& residency,
                                                     int64_t budget_bytes,
                                                     bool double_buffer) {
  std::optional<TilingCost> best;
  CostModel model(chip, layer, residency);
  const auto consider = [&](const Tiling& tiling) -> absl::Status {
    if (tiling.rows > chip.most_rows()) return absl::OkStatus();
    const int64_t bytes = double_buffer ? DoubledBytes(layer, tiling, residency)
                                        : TileBytes(layer, tiling, residency);
    if (bytes > budget_bytes) return absl::OkStatus();
    EK_ASSIGN_OR_RETURN(const int64_t cycles, model.Cycles(tiling));
    if (!best || cycles < best->cycles) best = TilingCost{tiling, cycles};
    return absl::OkStatus();
  };
  const bool streams =
      StreamedInputs(layer, residency) > 0 || !residency.output;
  EK_RETURN_IF_ERROR(consider({layer.out.h, layer.out.c}));
  // Nothing beats one command for the whole layer if only a small block moves.
  if (best && !streams &&
      DmaCycles(chip, 1, BlockBytes(layer, layer.out.c)) * kSmallBlock <
          best->cycles) {
    return best;
  }
  const int64_t grain = std::max<int64_t>(chip.macs_per_cycle(), 1);
  for (const int64_t channels : Sizes(layer.out.c, grain)) {
    if (!Legal(layer, channels)) continue;
    for (const int64_t rows : Sizes(layer.out.h, 1)) {
      EK_RETURN_IF_ERROR(consider({rows, channels, TileOrder::kChannelsOuter}));
      if (rows == layer.out.h || channels == layer.out.c) continue;
      EK_RETURN_IF_ERROR(consider({rows, channels, TileOrder::kRowsOuter}));
    }
  }
  return best;
}

}  // namespace edgekiln::compiler::dla
