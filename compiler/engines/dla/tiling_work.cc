// What tilings move, and the bytes of SRAM that they need.

#include <algorithm>

#include "compiler/engines/dla/schedule.h"
#include "compiler/engines/dla/tiling_costs.h"

namespace edgekiln::compiler::dla {

OperandWork TilingCosts::InputWork(const Candidate& candidate,
                                   const Residency& residency) const {
  OperandWork input;
  const int streamed = StreamedInputs(layer_, residency);
  if (streamed == 0) return input;
  const AxisCut& rows = rows_[candidate.rows];
  const AxisCut& columns = columns_[candidate.columns];
  const AxisCut& channels = channels_[candidate.channels];
  const AxisCut& inputs = inputs_[candidate.inputs];
  if (candidate.whole_input) {
    const int64_t row = layer_.in_row_bytes() * streamed;
    input.buffer_bytes = layer_.all_in_bytes() * streamed;
    input.all_bytes = rows.input_once * row;
    input.buffers_used = 1;
    input.transfers = rows.loads_once * streamed;
    input.border_transfers = input.transfers;
    input.exposed_cycles = DmaCycles(streamed, rows.first_input * row);
  } else {
    const int64_t loads = rows.loads * columns.loads;
    const bool split = inputs.tiles > 1;
    const int64_t in_channels = InputChannels(candidate);
    const int64_t pixel = in_channels * layer_.in_bytes * streamed;
    // Without a cut of its own, an input tile serves all that follow it.
    const bool again =
        !channelwise_ &&
        (split || (candidate.order != TileOrder::kPixelsOuter && loads > 1));
    const int64_t passes = again ? channels.tiles : 1;
    // Neighbours can read the same input channel.
    const int64_t channel_loads =
        channelwise_ ? std::min(channels.tiles, layer_.in.c) : 1;
    // The tiles of one tile of rows.
    const int64_t repeats = channel_loads * passes * inputs.tiles;
    input.buffer_bytes = rows.most_input * columns.most_input * pixel;
    input.all_bytes = rows.all_input * columns.all_input * layer_.in.c *
                      layer_.in_bytes * streamed * passes;
    input.buffers_used = loads * repeats;
    // The DMA counts in two dimensions.
    const bool by_row =
        columns.tiles > 1 && (split || in_channels < layer_.in.c);
    input.transfers =
        repeats * streamed *
        (by_row ? (columns.loads - columns.whole_loads) * rows.all_input +
                      columns.whole_loads * rows.loads
                : loads);
    input.border_transfers =
        kMaxBuffers * (by_row ? rows.most_input : 1) * streamed;
    const bool first_by_row = by_row && columns.first_input < layer_.in.w;
    input.exposed_cycles =
        DmaCycles(streamed * (first_by_row ? rows.first_input : 1),
                  rows.first_input * columns.first_input * pixel);
  }
  input.cycles = DmaCycles(input.transfers, input.all_bytes);
  return input;
}

OperandWork TilingCosts::BlockWork(const Candidate& candidate,
                                   const Residency& residency) const {
  OperandWork block;
  if (!layer_.has_block() || residency.blocks) return block;
  const AxisCut& channels = channels_[candidate.channels];
  const AxisCut& inputs = inputs_[candidate.inputs];
  const bool again =
      inputs.tiles > 1 ||
      (candidate.order == TileOrder::kPixelsOuter && channels.tiles > 1);
  const int64_t passes =
      again ? rows_[candidate.rows].tiles * columns_[candidate.columns].tiles
            : 1;
  const int64_t tables = layer_.out.c * kTableEntryBytes * (inputs.tiles - 1);
  block.buffer_bytes = BlockBytes(layer_, channels.size, inputs.size);
  block.all_bytes = (all_block_bytes_ + tables) * passes;
  block.buffers_used = channels.tiles * inputs.tiles * passes;
  block.transfers = block.buffers_used;
  block.border_transfers = kMaxBuffers;
  block.cycles = DmaCycles(block.transfers, block.all_bytes);
  // The first block nearly always arrives while the layer before computes.
  block.exposed_cycles = DmaCycles(1, block.buffer_bytes) / 16;
  return block;
}

OperandWork TilingCosts::OutputWork(const Candidate& candidate,
                                    const Residency& residency) const {
  OperandWork output;
  if (residency.output) return output;
  const AxisCut& rows = rows_[candidate.rows];
  const AxisCut& columns = columns_[candidate.columns];
  const AxisCut& channels = channels_[candidate.channels];
  const bool by_row = columns.tiles > 1 && channels.tiles > 1;
  output.buffer_bytes =
      rows.size * columns.size * channels.size * layer_.out_bytes;
  output.all_bytes = layer_.all_out_bytes();
  output.buffers_used = rows.tiles * columns.tiles * channels.tiles;
  output.transfers =
      columns.tiles * channels.tiles * (by_row ? layer_.out.h : rows.tiles);
  output.border_transfers = kMaxBuffers * (by_row ? rows.size : 1);
  output.cycles = DmaCycles(output.transfers, output.all_bytes);
  output.exposed_cycles =
      DmaCycles(by_row ? rows.size : 1, output.buffer_bytes);
  return output;
}

int64_t TilingCosts::SumsOf(const Candidate& candidate) const {
  if (inputs_[candidate.inputs].tiles == 1) return 0;
  const Tiling tiling = TilingOf(candidate);
  return SumsBuffers(layer_, tiling) * SumsBytes(layer_, tiling);
}

Work TilingCosts::WorkOf(const Candidate& candidate,
                         const Residency& residency) const {
  return {.operands = {InputWork(candidate, residency),
                       BlockWork(candidate, residency),
                       OutputWork(candidate, residency)},
          .sums_bytes = SumsOf(candidate)};
}

int64_t TilingCosts::LeastExposedCycles(const Candidate& candidate,
                                        const Residency& residency) const {
  const AxisCut& rows = rows_[candidate.rows];
  const AxisCut& columns = columns_[candidate.columns];
  int64_t cycles = 0;
  // In no more transfers than one for each input, in no more bytes than those
  // of a tile, which whole rows exceed.
  if (const int streamed = StreamedInputs(layer_, residency); streamed > 0) {
    cycles += DmaCycles(streamed, rows.first_input * columns.first_input *
                                      InputChannels(candidate) *
                                      layer_.in_bytes * streamed);
  }
  if (!residency.output) {
    cycles +=
        DmaCycles(1, rows.size * columns.size *
                         channels_[candidate.channels].size * layer_.out_bytes);
  }
  return cycles;
}

int64_t TilingCosts::LeastBytes(const Candidate& candidate,
                                const Residency& residency) const {
  const AxisCut& rows = rows_[candidate.rows];
  const AxisCut& columns = columns_[candidate.columns];
  const AxisCut& channels = channels_[candidate.channels];
  int64_t bytes = SumsOf(candidate);
  if (const int streamed = StreamedInputs(layer_, residency); streamed > 0) {
    bytes += candidate.whole_input
                 ? layer_.all_in_bytes() * streamed
                 : rows.most_input * columns.most_input *
                       InputChannels(candidate) * layer_.in_bytes * streamed;
  }
  if (layer_.has_block() && !residency.blocks) {
    bytes += BlockBytes(layer_, channels.size, inputs_[candidate.inputs].size);
  }
  if (!residency.output) {
    bytes += rows.size * columns.size * channels.size * layer_.out_bytes;
  }
  return bytes;
}

}  // namespace edgekiln::compiler::dla
