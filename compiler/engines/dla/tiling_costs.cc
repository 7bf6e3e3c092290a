#include "compiler/engines/dla/tiling_costs.h"

#include <algorithm>
#include <bit>
#include <functional>

#include "absl/container/inlined_vector.h"
#include "base/rounding.h"
#include "base/status_macros.h"
#include "compiler/engines/dla/compute_command.h"
#include "compiler/engines/dla/cycle_limit.h"

namespace edgekiln::compiler::dla {
namespace {

// Numbers of tiles up to this are all tried; of more, each a quarter larger.
constexpr int64_t kAllTiles = 48;

// The smallest size of each number of equal cuts: all of them, large ones
// first.
std::vector<int64_t> AllSizes(int64_t extent) {
  std::vector<int64_t> sizes;
  for (int64_t size = extent; size > 1;) {
    sizes.push_back(size);
    size = CeilDiv(extent, (extent - 1) / (size - 1) + 1);
  }
  sizes.push_back(1);
  return sizes;
}

// Those of up to kAllTiles tiles and some of more, and these rounded up to a
// multiple of `grain`.
std::vector<int64_t> Sizes(int64_t extent, int64_t grain) {
  std::vector<int64_t> sizes;
  int64_t last = 0;
  int64_t last_rounded = 0;
  const auto add = [&](int64_t size) {
    if (size == last) return;
    sizes.push_back(last = size);
    const int64_t rounded = std::min(extent, RoundUp(size, grain));
    if (rounded == last_rounded || rounded == size) return;
    sizes.push_back(last_rounded = rounded);
  };
  for (int64_t tiles = 1; tiles < extent;
       tiles += tiles < kAllTiles ? 1 : tiles / 4) {
    add(CeilDiv(extent, tiles));
  }
  add(1);
  if (grain > 1) {
    std::sort(sizes.begin(), sizes.end(), std::greater<>());
    sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  }
  return sizes;
}

// A depthwise tile must not begin or end inside the outputs of one input
// channel unless it lies within them altogether.
bool Legal(const Layer& layer, int64_t channels) {
  const int64_t multiplier = layer.depth_multiplier;
  return channels == layer.out.c || channels % multiplier == 0 ||
         multiplier % channels == 0;
}

// Tiles of one size along an axis: all but the last, and that one.
struct TilesOfSize {
  int64_t size;
  int64_t count;
};
absl::InlinedVector<TilesOfSize, 2> SizesOf(const AxisCut& cut) {
  if (cut.last == cut.size) return {{cut.size, cut.tiles}};
  if (cut.tiles == 1) return {{cut.last, 1}};
  return {{cut.size, cut.tiles - 1}, {cut.last, 1}};
}

}  // namespace

TilingCosts::TilingCosts(const Chip& chip, const Layer& layer, Cuts cuts,
                         Count count)
    : chip_(chip),
      layer_(layer),
      count_(count),
      channelwise_(layer.channelwise()),
      dma_setup_cycles_(chip.dma_setup_cycles()),
      dma_bytes_per_cycle_(chip.dma_bytes_per_cycle()),
      dma_shift_(
          std::has_single_bit(static_cast<uint64_t>(chip.dma_bytes_per_cycle()))
              ? std::countr_zero(
                    static_cast<uint64_t>(chip.dma_bytes_per_cycle()))
              : -1),
      all_block_bytes_(BlockBytes(layer, layer.out.c, layer.in.c)) {
  if (layer.op == LayerOp::kAlias) return;
  const Tiling smallest = SmallestTiling(chip, layer, cuts);
  // Pieces of a chain may have other rows than equal cuts of all of them.
  for (const int64_t size :
       count == Count::kArray ? AllSizes(layer.out.h) : Sizes(layer.out.h, 1)) {
    if (size > chip.most_rows()) continue;
    if (cuts.channels_only() && size != smallest.rows) continue;
    rows_.push_back(CutWindow(layer.vertical, layer.in.h, layer.out.h, size));
  }
  if (rows_.empty()) {
    rows_.push_back(
        CutWindow(layer.vertical, layer.in.h, layer.out.h, smallest.rows));
  }
  for (const int64_t size : Sizes(layer.out.w, 1)) {
    if (size != layer.out.w && !CanCutColumns(chip, layer, cuts)) continue;
    columns_.push_back(
        CutWindow(layer.horizontal, layer.in.w, layer.out.w, size));
  }
  const int64_t grain = std::max<int64_t>(chip.macs_per_cycle(), 1);
  for (const int64_t size : Sizes(layer.out.c, grain)) {
    if (!Legal(layer, size)) continue;
    AxisCut cut = Cut(layer.out.c, size);
    cut.most_input = InputOf(layer, {0, 1, 0, 1, 0, size}).slice.channels();
    channels_.push_back(cut);
  }
  adding_.assign(channels_.size(), {});
  filling_cycles_.assign(channels_.size(), -1);
  for (const int64_t size : Sizes(layer.in.c, grain)) {
    if (size != layer.in.c && !CanCutInputs(chip, layer, cuts)) continue;
    inputs_.push_back(Cut(layer.in.c, size));
  }
}

Tiling TilingCosts::TilingOf(const Candidate& candidate) const {
  return {.rows = rows_[candidate.rows].size,
          .columns = columns_[candidate.columns].size,
          .channels = channels_[candidate.channels].size,
          .inputs = inputs_[candidate.inputs].size,
          .order = candidate.order,
          .whole_input = candidate.whole_input};
}

absl::StatusOr<int64_t> TilingCosts::CommandCycles(
    DlaCommand command, const RegisterFile& registers, Count count) const {
  EK_ASSIGN_OR_RETURN(const int64_t cycles,
                      chip_.OccupancyCycles(command, registers));
  if (count != Count::kAsIssued) return cycles;
  // Decoding, and a few registers.
  return std::max(cycles, 2 * chip_.IssueCycles(command));
}

absl::StatusOr<int64_t> TilingCosts::StepCycles(const Shape& shape,
                                                Count count) const {
  Slice output = {0, shape.rows, 0, shape.columns, 0, shape.channels};
  if (shape.inputs < layer_.in.c) {
    const ComputeCommand sums =
        PartialSums(layer_, output,
                    {.end = shape.channels, .in_end = shape.inputs}, {}, {});
    return CommandCycles(sums.command, sums.registers, count);
  }
  int64_t commands = 1;
  if (layer_.by_channel) {
    // All take the same time.
    commands = InputOf(layer_, output).slice.channels();
    output.c_end = std::min(output.c_end, layer_.depth_multiplier);
  }
  const ComputeCommand command = FirstOfSlice(layer_, output, {});
  EK_ASSIGN_OR_RETURN(const int64_t cycles,
                      CommandCycles(command.command, command.registers, count));
  return TimesCycles(cycles, commands);
}

absl::StatusOr<int64_t> TilingCosts::TileCycles(const Shape& pixels,
                                                size_t input_cut) const {
  const AxisCut& inputs = inputs_[input_cut];
  Shape shape = pixels;
  shape.inputs = inputs.size;
  EK_ASSIGN_OR_RETURN(int64_t sum, StepCycles(shape));
  if (inputs.tiles == 1) return sum;
  sum = TimesCycles(sum, inputs.tiles - 1);
  shape.inputs = inputs.last;
  EK_ASSIGN_OR_RETURN(const int64_t last, StepCycles(shape));
  sum += last;
  if (count_ == Count::kArray) return sum;
  EK_ASSIGN_OR_RETURN(const int64_t summing, SummingCycles(shape, inputs));
  return sum + summing;
}

absl::StatusOr<int64_t> TilingCosts::SummingCycles(
    const Shape& pixels, const AxisCut& inputs) const {
  if (inputs.tiles == 1) return 0;
  const Slice output = {0, pixels.rows, 0, pixels.columns, 0, pixels.channels};
  const ComputeCommand add = AddSums(output, {}, {});
  EK_ASSIGN_OR_RETURN(const int64_t adding,
                      CommandCycles(add.command, add.registers, count_));
  const int64_t sum = TimesCycles(adding, inputs.tiles - 1);
  if (layer_.gives_sums()) return sum;
  const ComputeCommand requantize = RequantizeSums(layer_, output, {}, {});
  EK_ASSIGN_OR_RETURN(
      const int64_t requantizing,
      CommandCycles(requantize.command, requantize.registers, count_));
  return sum + requantizing;
}

template <typename CyclesOfTile>
absl::StatusOr<int64_t> TilingCosts::SumOverTiles(
    const Candidate& candidate, const CyclesOfTile& cycles_of) const {
  int64_t sum = 0;
  for (const TilesOfSize& row : SizesOf(rows_[candidate.rows])) {
    for (const TilesOfSize& column : SizesOf(columns_[candidate.columns])) {
      for (const TilesOfSize& channel :
           SizesOf(channels_[candidate.channels])) {
        EK_ASSIGN_OR_RETURN(const int64_t cycles,
                            cycles_of({.rows = row.size,
                                       .columns = column.size,
                                       .channels = channel.size,
                                       .inputs = 0}));
        sum += TimesCycles(cycles, row.count * column.count * channel.count);
      }
    }
  }
  return LimitCycles(sum);
}

absl::StatusOr<int64_t> TilingCosts::SummingCycles(
    const Candidate& candidate) const {
  return SumOverTiles(candidate, [&](const Shape& tile) {
    return SummingCycles(tile, inputs_[candidate.inputs]);
  });
}

absl::StatusOr<int64_t> TilingCosts::ComputeCycles(const Candidate& candidate) {
  uint64_t key = candidate.rows;
  key = key * columns_.size() + candidate.columns;
  key = key * channels_.size() + candidate.channels;
  key = key * inputs_.size() + candidate.inputs;
  const auto [it, is_new] = compute_cycles_.try_emplace(key, 0);
  if (!is_new) return it->second;
  EK_ASSIGN_OR_RETURN(const int64_t sum,
                      SumOverTiles(candidate, [&](const Shape& tile) {
                        return TileCycles(tile, candidate.inputs);
                      }));
  compute_cycles_[key] = sum;
  return sum;
}

absl::StatusOr<int64_t> TilingCosts::AddingCycles(const Candidate& candidate) {
  const AxisCut& inputs = inputs_[candidate.inputs];
  if (inputs.tiles == 1) return 0;
  Adding& adding = adding_[candidate.channels];
  if (adding.once < 0) {
    const AxisCut& channels = channels_[candidate.channels];
    adding.once = 0;
    for (const bool last : {false, true}) {
      const int64_t count = last ? 1 : channels.tiles - 1;
      if (count == 0) continue;
      const Slice output = {0, layer_.out.h,
                            0, layer_.out.w,
                            0, last ? channels.last : channels.size};
      const ComputeCommand add = AddSums(output, {}, {});
      EK_ASSIGN_OR_RETURN(const int64_t cycles,
                          chip_.OccupancyCycles(add.command, add.registers));
      adding.once += TimesCycles(cycles, count);
      if (layer_.gives_sums()) continue;
      const ComputeCommand requantize = RequantizeSums(layer_, output, {}, {});
      EK_ASSIGN_OR_RETURN(
          const int64_t requantizing,
          chip_.OccupancyCycles(requantize.command, requantize.registers));
      adding.requantizing += TimesCycles(requantizing, count);
    }
  }
  return LimitCycles(__int128{adding.once} * (inputs.tiles - 1) +
                     adding.requantizing);
}

absl::StatusOr<int64_t> TilingCosts::CyclesPerTile(const Candidate& candidate) {
  const AxisCut& channels = channels_[candidate.channels];
  int64_t& filling = filling_cycles_[candidate.channels];
  if (filling < 0) {
    filling = 0;
    const int64_t rows = rows_.front().size;
    Shape shape = {.rows = rows,
                   .columns = layer_.out.w,
                   .channels = channels.size,
                   .inputs = layer_.in.c};
    if (rows > 1) {
      EK_ASSIGN_OR_RETURN(const int64_t all, StepCycles(shape));
      shape.rows = 1;
      EK_ASSIGN_OR_RETURN(const int64_t one, StepCycles(shape));
      // What rows do not explain; less what rounding may.
      filling =
          std::max<int64_t>((TimesCycles(one, rows) - all) / (rows - 1) - 1, 0);
    }
  }
  return TimesCycles(filling, channels.tiles * inputs_[candidate.inputs].tiles);
}

bool TilingCosts::SumsFit(const Candidate& candidate) const {
  if (inputs_[candidate.inputs].tiles == 1) return true;
  // Sums that are the output may lie in all of it.
  return layer_.gives_sums()
             ? dla::SumsFit(chip_, layer_.out.w, layer_.out.c)
             : dla::SumsFit(chip_, columns_[candidate.columns].size,
                            channels_[candidate.channels].size);
}

}  // namespace edgekiln::compiler::dla
