#include "compiler/engines/dla/tiling.h"

#include <algorithm>

#include "base/rounding.h"
#include "compiler/engines/dla/compute_command.h"

namespace edgekiln::compiler::dla {
AxisCut Cut(int64_t extent, int64_t size) {
  AxisCut cut = {.size = size, .tiles = CeilDiv(extent, size)};
  cut.last = extent - (cut.tiles - 1) * size;
  return cut;
}

AxisCut CutWindow(const WindowAxis& axis, int64_t in_extent, int64_t out_extent,
                  int64_t size) {
  AxisCut cut = Cut(out_extent, size);
  const auto input = [&](int64_t tile) {
    return InputOfAxis(axis, in_extent, tile * size,
                       std::min((tile + 1) * size, out_extent));
  };
  AxisInput before;   // Of the last tile.
  int64_t there = 0;  // The end of all tiles.
  const auto add = [&](int64_t tile) {
    const AxisInput range = input(tile);
    const int64_t elements = range.end - range.begin;
    cut.most_input = std::max(cut.most_input, elements);
    if (range.end > there) {
      ++cut.loads_once;
      cut.input_once += range.end - std::max(there, range.begin);
      there = range.end;
    }
    if (tile > 0 && range.begin == before.begin && range.end == before.end) {
      return;
    }
    before = range;
    ++cut.loads;
    cut.all_input += elements;
    if (elements == in_extent) ++cut.whole_loads;
  };
  const AxisInput first = input(0);
  cut.first_input = first.end - first.begin;
  // Between the borders all read the same number.
  const int64_t span = axis.Span(size);
  const auto is_inner = [&](int64_t tile) {
    const int64_t begin = tile * size * axis.stride - axis.pad_before;
    return begin >= 0 && begin + span <= in_extent &&
           (tile + 1) * size <= out_extent;
  };
  int64_t begin = 0;
  while (begin < cut.tiles && !is_inner(begin)) add(begin++);
  int64_t end = cut.tiles;
  while (end > begin && !is_inner(end - 1)) --end;
  if (end > begin) {
    add(begin++);
    const int64_t more = end - begin;
    cut.loads += more;
    cut.loads_once += more;
    cut.all_input += more * span;
    cut.input_once += more * std::min(span, size * axis.stride);
    if (more > 0) {
      before = input(end - 1);
      there = before.end;
    }
  }
  while (end < cut.tiles) add(end++);
  return cut;
}

bool SkipsInput(const Layer& layer) {
  return layer.vertical.Span(1) < layer.vertical.stride ||
         layer.horizontal.Span(1) < layer.horizontal.stride;
}

std::vector<Slice> TilesOf(const Layer& layer, const Tiling& tiling) {
  return TilesOf(layer, tiling, 0, layer.out.h);
}

std::vector<Slice> TilesOf(const Layer& layer, const Tiling& tiling,
                           int64_t first_row, int64_t end_row) {
  std::vector<Slice> tiles;
  const auto add_tile = [&](int64_t h, int64_t w, int64_t c) {
    tiles.push_back({h, std::min(h + tiling.rows, end_row), w,
                     std::min(w + tiling.columns, layer.out.w), c,
                     std::min(c + tiling.channels, layer.out.c)});
  };
  if (tiling.order == TileOrder::kPixelsOuter) {
    for (int64_t h = first_row; h < end_row; h += tiling.rows) {
      for (int64_t w = 0; w < layer.out.w; w += tiling.columns) {
        for (int64_t c = 0; c < layer.out.c; c += tiling.channels) {
          add_tile(h, w, c);
        }
      }
    }
  } else {
    for (int64_t c = 0; c < layer.out.c; c += tiling.channels) {
      for (int64_t h = first_row; h < end_row; h += tiling.rows) {
        for (int64_t w = 0; w < layer.out.w; w += tiling.columns) {
          add_tile(h, w, c);
        }
      }
    }
  }
  return tiles;
}

int64_t InputsPerStep(const Layer& layer, const Tiling& tiling) {
  return layer.sums_up() ? std::min(tiling.inputs, layer.in.c) : layer.in.c;
}

bool IsAligned(const Layer& layer, const Tiling& tiling) {
  return layer.aligned() || InputsPerStep(layer, tiling) < layer.in.c;
}

int SumsBuffers(const Layer& layer, const Tiling& tiling) {
  if (InputsPerStep(layer, tiling) == layer.in.c) return 0;
  return layer.gives_sums() ? 1 : 2;
}

int64_t SumsBytes(const Layer& layer, const Tiling& tiling) {
  return std::min(tiling.rows, layer.out.h) *
         std::min(tiling.columns, layer.out.w) *
         std::min(tiling.channels, layer.out.c) * kSumBytes;
}

int StreamedInputs(const Layer& layer, const Residency& residency) {
  return (residency.input ? 0 : 1) +
         (layer.has_second_input() && !residency.input2 ? 1 : 0);
}

int64_t TileBytes(const Layer& layer, const Tiling& tiling,
                  const Residency& residency) {
  const int64_t rows = std::min(tiling.rows, layer.out.h);
  const int64_t columns = std::min(tiling.columns, layer.out.w);
  const int64_t channels = std::min(tiling.channels, layer.out.c);
  const int64_t inputs = InputsPerStep(layer, tiling);
  const int64_t in_channels =
      layer.channelwise()
          ? InputOf(layer, {0, 1, 0, 1, 0, channels}).slice.channels()
          : inputs;
  const int64_t input =
      (tiling.whole_input
           ? layer.all_in_bytes()
           : CutWindow(layer.vertical, layer.in.h, layer.out.h, rows)
                     .most_input *
                 CutWindow(layer.horizontal, layer.in.w, layer.out.w, columns)
                     .most_input *
                 in_channels * layer.in_bytes) *
      StreamedInputs(layer, residency);
  const int64_t output =
      residency.output ? 0 : rows * columns * channels * layer.out_bytes;
  const int64_t block =
      residency.blocks ? 0 : BlockBytes(layer, channels, inputs);
  if (!IsAligned(layer, tiling)) return block + input + output;
  return RoundUp(block, kSlotAlignment) + RoundUp(input, kSlotAlignment) +
         RoundUp(output, kSlotAlignment) +
         SumsBuffers(layer, tiling) * SumsBytes(layer, tiling);
}

bool CanCutColumns(const Chip& chip, const Layer& layer, Cuts cuts) {
  if (cuts.channels_only() || layer.out.w == 1) return false;
  // A matrix product sees the pixels of a slice as dense rows.
  if (layer.op == LayerOp::kMatMul) return false;
  // A tile may lie in the padding alone, on either side.
  const WindowAxis& axis = layer.horizontal;
  const int64_t after = axis.Span(layer.out.w) - axis.pad_before - layer.in.w;
  if (std::max(axis.pad_before, after) > chip.Most(DlaRegister::kPadLeft)) {
    return false;
  }
  // Tiles are moved row by row.
  const int64_t row = std::max(layer.in_row_bytes(), layer.out_row_bytes());
  return row <= chip.Most(DlaRegister::kDmaSystemPitch) &&
         row <= chip.Most(DlaRegister::kDmaSramPitch);
}

bool CanCutInputs(const Chip& chip, const Layer& layer, Cuts cuts) {
  if (cuts.channels_only() || !layer.sums_up() || layer.in.c == 1) return false;
  if (!chip.adds_sums() || !SumsFit(chip, 1, 1)) return false;
  if (layer.half_even && !layer.gives_sums() && !chip.requant_rounds()) {
    return false;
  }
  // Slices of channels are moved pixel by pixel.
  const int64_t pixel = layer.in.c * layer.in_bytes;
  return pixel <= chip.Most(DlaRegister::kDmaSystemPitch) &&
         pixel <= chip.Most(DlaRegister::kDmaSramPitch);
}

bool SumsFit(const Chip& chip, int64_t columns, int64_t channels) {
  using R = DlaRegister;
  const int64_t pixel = channels * kSumBytes;
  for (const R reg : {R::kInPixelPitch, R::kIn2PixelPitch, R::kOutPixelPitch}) {
    if (pixel > chip.Most(reg)) return false;
  }
  for (const R reg : {R::kInRowPitch, R::kIn2RowPitch, R::kOutRowPitch}) {
    if (pixel * columns > chip.Most(reg)) return false;
  }
  return true;
}

Tiling SmallestTiling(const Chip& chip, const Layer& layer, Cuts cuts) {
  const int64_t rows = std::min(layer.out.h, cuts.all_rows_up_to);
  return {.rows = std::max<int64_t>(rows, 1),
          .columns = CanCutColumns(chip, layer, cuts) ? 1 : layer.out.w,
          .inputs = layer.in.c};
}

int64_t SmallestSram(const Chip& chip, const Layer& layer, Cuts cuts) {
  if (layer.op == LayerOp::kAlias) return 0;
  return TileBytes(layer, SmallestTiling(chip, layer, cuts), {});
}

}  // namespace edgekiln::compiler::dla
