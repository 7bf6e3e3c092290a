#include "compiler/engines/dla/tiling.h"

#include <algorithm>

#include "base/rounding.h"
#include "compiler/engines/dla/compute_command.h"

namespace edgekiln::compiler::dla {
namespace {

// Input elements along one axis that the largest of equal tiles reads.
int64_t MostInput(const WindowAxis& axis, int64_t in_extent, int64_t out_extent,
                  int64_t size) {
  int64_t most = 0;
  for (int64_t begin = 0; begin < out_extent; begin += size) {
    const AxisInput input =
        InputOfAxis(axis, in_extent, begin, std::min(begin + size, out_extent));
    most = std::max(most, input.end - input.begin);
  }
  return most;
}

}  // namespace

std::vector<Slice> TilesOf(const Layer& layer, const Tiling& tiling) {
  std::vector<Slice> tiles;
  const auto add_tile = [&](int64_t h, int64_t w, int64_t c) {
    tiles.push_back({h, std::min(h + tiling.rows, layer.out.h), w,
                     std::min(w + tiling.columns, layer.out.w), c,
                     std::min(c + tiling.channels, layer.out.c)});
  };
  if (tiling.order == TileOrder::kPixelsOuter) {
    for (int64_t h = 0; h < layer.out.h; h += tiling.rows) {
      for (int64_t w = 0; w < layer.out.w; w += tiling.columns) {
        for (int64_t c = 0; c < layer.out.c; c += tiling.channels) {
          add_tile(h, w, c);
        }
      }
    }
  } else {
    for (int64_t c = 0; c < layer.out.c; c += tiling.channels) {
      for (int64_t h = 0; h < layer.out.h; h += tiling.rows) {
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
           : MostInput(layer.vertical, layer.in.h, layer.out.h, rows) *
                 MostInput(layer.horizontal, layer.in.w, layer.out.w, columns) *
                 in_channels * layer.in_bytes) *
      StreamedInputs(layer, residency);
  const int64_t output =
      residency.output ? 0 : rows * columns * channels * layer.out_bytes;
  const int64_t block = BlockBytes(layer, channels, inputs);
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
  return !cuts.channels_only() && layer.sums_up() && layer.in.c > 1 &&
         chip.adds_sums() && SumsFit(chip, 1, 1);
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
