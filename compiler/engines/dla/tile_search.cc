#include "compiler/engines/dla/tile_search.h"

#include <algorithm>
#include <set>

#include "base/rounding.h"
#include "base/status_macros.h"
#include "compiler/engines/dla/compute_command.h"

namespace edgekiln::compiler::dla {
namespace {

// Input bytes of one tile; twice that for an addition of two streamed tensors.
int64_t InputBytes(const Layer& layer, const Slice& tile,
                   const Residency& residency) {
  const int64_t bytes = layer.InputBytes(InputOf(layer, tile).slice);
  const bool second = layer.op == LayerOp::kAdd && !residency.input2;
  return (residency.input ? 0 : bytes) + (second ? bytes : 0);
}

int StreamedInputs(const Layer& layer, const Residency& residency) {
  return (residency.input ? 0 : 1) +
         (layer.op == LayerOp::kAdd && !residency.input2 ? 1 : 0);
}

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

// The smallest size of each number of even cuts, and that rounded up to a
// multiple of `grain`.
std::vector<int64_t> AllEvenSizes(int64_t extent, int64_t grain) {
  std::set<int64_t> sizes;
  for (int64_t cuts = 1; cuts <= extent; ++cuts) {
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
  const int64_t output =
      residency.output ? 0 : layer.OutputBytes({0, rows, 0, channels});
  const int64_t block = BlockBytes(layer, channels);
  if (!layer.aligned()) return block + input + output;
  return RoundUp(block, kSlotAlignment) + RoundUp(input, kSlotAlignment) +
         RoundUp(output, kSlotAlignment);
}

Tiling SmallestTiling(const Layer& layer, Cuts cuts) {
  const int64_t rows = std::min(layer.out.h, cuts.all_rows_up_to);
  return {.rows = std::max<int64_t>(rows, 1), .channels = 1};
}

int64_t SmallestSram(const Layer& layer, Cuts cuts) {
  if (layer.op == LayerOp::kAlias) return 0;
  return TileBytes(layer, SmallestTiling(layer, cuts), {});
}

TilingSearch::TilingSearch(const Chip& chip, const Layer& layer, Cuts cuts)
    : chip_(chip), layer_(layer) {
  if (layer.op == LayerOp::kAlias) return;
  const std::vector<int64_t> rows_tried =
      cuts.channels_only()
          ? std::vector<int64_t>{SmallestTiling(layer, cuts).rows}
          : Sizes(layer.out.h, 1);
  for (const int64_t rows : rows_tried) {
    if (rows <= chip.most_rows()) row_cuts_.push_back(CutRows(rows));
  }
  const int64_t grain = std::max<int64_t>(chip.macs_per_cycle(), 1);
  for (const int64_t channels : cuts.channels_only()
                                    ? AllEvenSizes(layer.out.c, grain)
                                    : Sizes(layer.out.c, grain)) {
    if (Legal(layer, channels)) channel_cuts_.push_back(CutChannels(channels));
  }
  compute_cycles_.assign(row_cuts_.size() * channel_cuts_.size(), -1);
}

TilingSearch::RowCut TilingSearch::CutRows(int64_t rows) const {
  RowCut cut{.rows = rows, .tiles = CeilDiv(layer_.out.h, rows)};
  for (int64_t h = 0; h < layer_.out.h; h += rows) {
    const Slice tile = {h, std::min(h + rows, layer_.out.h), 0, layer_.out.c};
    const int64_t input_rows = InputOf(layer_, tile).slice.rows();
    if (h == 0) cut.first_input_rows = input_rows;
    cut.most_input_rows = std::max(cut.most_input_rows, input_rows);
    cut.all_input_rows += input_rows;
  }
  return cut;
}

TilingSearch::ChannelCut TilingSearch::CutChannels(int64_t channels) const {
  return {
      .channels = channels,
      .tiles = CeilDiv(layer_.out.c, channels),
      .input_channels = InputOf(layer_, {0, 1, 0, channels}).slice.channels(),
      .block_bytes = BlockBytes(layer_, channels)};
}

// Tiles come in at most four shapes: full or last in rows, in channels.
absl::StatusOr<int64_t> TilingSearch::ComputeCycles(size_t row_cut,
                                                    size_t channel_cut) {
  int64_t& known =
      compute_cycles_[row_cut * channel_cuts_.size() + channel_cut];
  if (known >= 0) return known;
  const RowCut& r = row_cuts_[row_cut];
  const ChannelCut& c = channel_cuts_[channel_cut];
  const int64_t last_row = (r.tiles - 1) * r.rows;
  const int64_t last_channel = (c.tiles - 1) * c.channels;
  const struct {
    int64_t h, h_end, c, c_end, count;
  } shapes[] = {
      {0, r.rows, 0, c.channels, (r.tiles - 1) * (c.tiles - 1)},
      {last_row, layer_.out.h, 0, c.channels, c.tiles - 1},
      {0, r.rows, last_channel, layer_.out.c, r.tiles - 1},
      {last_row, layer_.out.h, last_channel, layer_.out.c, 1},
  };
  int64_t sum = 0;
  for (const auto& shape : shapes) {
    if (shape.count == 0) continue;
    // By channel all take the same time.
    Slice slice = {shape.h, shape.h_end, shape.c, shape.c_end};
    int64_t commands = 1;
    if (layer_.by_channel) {
      commands = InputOf(layer_, slice).slice.channels();
      slice.c_end =
          std::min(slice.c_end, slice.c_begin + layer_.depth_multiplier);
    }
    const ComputeCommand command = ComputeSlice(layer_, slice, {}).front();
    EK_ASSIGN_OR_RETURN(
        const int64_t cycles,
        chip_.OccupancyCycles(command.command, command.registers));
    // A command is never faster than its decoding and a few registers.
    const int64_t issue = 2 * chip_.IssueCycles(command.command);
    sum += shape.count * commands * std::max(cycles, issue);
  }
  known = sum;
  return known;
}

int64_t TilingSearch::DmaCycles(int64_t transfers, int64_t bytes) const {
  return transfers * chip_.dma_setup_cycles() +
         CeilDiv(bytes, chip_.dma_bytes_per_cycle());
}

TilingSearch::Work TilingSearch::WorkOf(const RowCut& rows,
                                        const ChannelCut& channels,
                                        TileOrder order,
                                        const Residency& residency) const {
  const int64_t tiles = rows.tiles * channels.tiles;
  const bool rows_outer = order == TileOrder::kRowsOuter;
  Work work;
  if (const int streamed = StreamedInputs(layer_, residency); streamed > 0) {
    const int64_t row =
        layer_.InputBytes({0, 1, 0, channels.input_channels}) * streamed;
    // All channels of the input serve every tile of output channels.
    const bool again = !layer_.channelwise() && !rows_outer && rows.tiles > 1;
    const int64_t passes = again ? channels.tiles : 1;
    work.input.tile_bytes = rows.most_input_rows * row;
    work.input.all_bytes =
        rows.all_input_rows * layer_.in_row_bytes() * streamed * passes;
    work.input.buffers_used =
        rows.tiles * (layer_.channelwise() ? channels.tiles : passes);
    work.input.transfers = work.input.buffers_used * streamed;
    work.input.exposed_cycles =
        DmaCycles(streamed, rows.first_input_rows * row);
  }
  if (layer_.has_block()) {
    const int64_t passes = rows_outer && channels.tiles > 1 ? rows.tiles : 1;
    work.block.tile_bytes = channels.block_bytes;
    work.block.all_bytes = BlockBytes(layer_, layer_.out.c) * passes;
    work.block.buffers_used = channels.tiles * passes;
    work.block.transfers = work.block.buffers_used;
    // The first block usually arrives while the layer before computes.
    work.block.exposed_cycles = DmaCycles(1, channels.block_bytes) / 4;
  }
  if (!residency.output) {
    work.output.tile_bytes =
        layer_.OutputBytes({0, rows.rows, 0, channels.channels});
    work.output.all_bytes = layer_.all_out_bytes();
    work.output.buffers_used = tiles;
    work.output.transfers = tiles;
    work.output.exposed_cycles = DmaCycles(1, work.output.tile_bytes);
  }
  for (Operand* operand : {&work.input, &work.block, &work.output}) {
    operand->cycles = DmaCycles(operand->transfers, operand->all_bytes);
  }
  return work;
}

absl::Status TilingSearch::Consider(size_t row_cut, size_t channel_cut,
                                    TileOrder order, const Residency& residency,
                                    int64_t budget_bytes, bool serial,
                                    std::optional<TilingCost>& best) {
  const RowCut& rows = row_cuts_[row_cut];
  const ChannelCut& channels = channel_cuts_[channel_cut];
  const Work work = WorkOf(rows, channels, order, residency);
  const Operand* const operands[] = {&work.input, &work.block, &work.output};
  const bool never_overlaps = serial || chip_.blocking_dma();
  int64_t bytes = 0;
  int64_t moving = 0;
  int64_t exposed = 0;
  TilingCost cost{.tiling = {rows.rows, channels.channels, order}};
  for (const Operand* operand : operands) {
    bytes += serial && !layer_.aligned()
                 ? operand->tile_bytes
                 : RoundUp(operand->tile_bytes, kSlotAlignment);
    moving += operand->cycles;
    // Where nothing overlaps all moves count already.
    if (!never_overlaps) exposed += operand->exposed_cycles;
    cost.dma_bytes += operand->all_bytes;
  }
  if (bytes > budget_bytes) return absl::OkStatus();
  if (best && moving > best->cycles) return absl::OkStatus();
  EK_ASSIGN_OR_RETURN(const int64_t computing,
                      ComputeCycles(row_cut, channel_cut));
  if (best && computing > best->cycles) return absl::OkStatus();
  // Which operands have a second buffer, as bits.
  for (int doubled = never_overlaps ? 0 : 7; doubled >= 0; --doubled) {
    int64_t taken = bytes;
    int64_t alone = never_overlaps ? moving : 0;  // While nothing computes.
    bool useless = false;
    for (int i = 0; i < 3 && !never_overlaps; ++i) {
      const Operand& operand = *operands[i];
      if ((doubled >> i & 1) != 0) {
        taken += RoundUp(operand.tile_bytes, kSlotAlignment);
        useless = useless || operand.buffers_used < 2;
      } else if (operand.buffers_used > 1) {
        alone += operand.cycles - operand.exposed_cycles;
      }
    }
    if (useless || taken > budget_bytes) continue;
    cost.sram_bytes = taken;
    cost.cycles = std::max(computing + alone, moving) + exposed;
    cost.tiling.double_input = (doubled & 1) != 0;
    cost.tiling.double_block = (doubled & 2) != 0;
    cost.tiling.double_output = (doubled & 4) != 0;
    if (!best || cost < *best) best = cost;
  }
  return absl::OkStatus();
}

absl::StatusOr<std::optional<TilingCost>> TilingSearch::Search(
    const Residency& residency, int64_t budget_bytes, bool serial) {
  std::optional<TilingCost> best;
  for (size_t c = 0; c < channel_cuts_.size(); ++c) {
    for (size_t r = 0; r < row_cuts_.size(); ++r) {
      EK_RETURN_IF_ERROR(Consider(r, c, TileOrder::kChannelsOuter, residency,
                                  budget_bytes, serial, best));
      if (row_cuts_[r].tiles == 1 || channel_cuts_[c].tiles == 1) continue;
      EK_RETURN_IF_ERROR(Consider(r, c, TileOrder::kRowsOuter, residency,
                                  budget_bytes, serial, best));
    }
  }
  return best;
}

absl::StatusOr<std::optional<TilingCost>> TilingSearch::Best(
    const Residency& residency, int64_t budget_bytes) {
  const size_t which = (residency.input ? 1 : 0) + (residency.input2 ? 2 : 0) +
                       (residency.output ? 4 : 0);
  for (const Found& found : found_[which]) {
    if (found.budget_bytes >= budget_bytes &&
        (!found.cost || found.cost->sram_bytes <= budget_bytes)) {
      return found.cost;
    }
  }
  EK_ASSIGN_OR_RETURN(std::optional<TilingCost> cost,
                      Search(residency, budget_bytes, /*serial=*/false));
  found_[which].push_back({budget_bytes, cost});
  return cost;
}

absl::StatusOr<std::optional<TilingCost>> TilingSearch::BestSerial(
    int64_t budget_bytes) {
  return Search({}, budget_bytes, /*serial=*/true);
}

}  // namespace edgekiln::compiler::dla
