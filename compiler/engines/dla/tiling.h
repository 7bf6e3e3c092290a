#ifndef EK_COMPILER_ENGINES_DLA_TILING_H_
#define EK_COMPILER_ENGINES_DLA_TILING_H_

#include <cstdint>
#include <vector>

#include "compiler/engines/dla/chip.h"
#include "compiler/engines/dla/layer.h"

// How one layer is cut: into tiles of rows, columns and output channels, each
// summed up over input channels, in an order, with one or two buffers for each
// operand.
namespace edgekiln::compiler::dla {

enum class TileOrder {
  kChannelsOuter,  // Weight-stationary: a block serves all rows and columns.
  kPixelsOuter,    // Input-stationary: an input tile serves all channels.
};

struct Tiling {
  int64_t rows = 1;      // Output rows per tile; the last tile may have fewer.
  int64_t columns = 1;   // Output columns per tile, alike.
  int64_t channels = 1;  // Output channels per tile, alike.
  // Input channels per command, where the layer sums_up(); alike. If not all of
  // them, a tile's sums stay in SRAM until they are complete.
  int64_t inputs = 1;
  TileOrder order = TileOrder::kChannelsOuter;
  // The input is read once, row by row, into a buffer that holds all of it.
  bool whole_input = false;
  // Which operands have two buffers: one is filled or stored while the other is
  // computed with.
  bool double_input = false;  // Both inputs of an addition.
  bool double_block = false;
  bool double_output = false;
  // Of a layer in a chain (chain.h): all its blocks stay, each in a buffer of
  // its own, from the first piece to the last.
  bool keeps_blocks = false;
  bool operator==(const Tiling&) const = default;
};

// The tiles in order of execution: slices of layer.out, of all its rows or of
// some.
std::vector<Slice> TilesOf(const Layer& layer, const Tiling& tiling);
std::vector<Slice> TilesOf(const Layer& layer, const Tiling& tiling,
                           int64_t first_row, int64_t end_row);

// Input channels that a command reads, at most; all unless the layer sums_up().
int64_t InputsPerStep(const Layer& layer, const Tiling& tiling);
// The layer is aligned(), or has int32 sums beside its buffers.
bool IsAligned(const Layer& layer, const Tiling& tiling);

// Buffers for the sums of a tile over several steps: the sums up to now, unless
// the layer's output is these, and those to add. Each of SumsBytes().
int SumsBuffers(const Layer& layer, const Tiling& tiling);
int64_t SumsBytes(const Layer& layer, const Tiling& tiling);

// Equal tiles along one axis; the last may be smaller.
struct AxisCut {
  int64_t size = 0;
  int64_t tiles = 0;
  int64_t last = 0;  // Size of the last one.
  // Of rows and columns: input elements that the first, the largest and all
  // tiles read, with what they share. Of channels: those of one tile.
  int64_t first_input = 0;
  int64_t most_input = 0;
  int64_t all_input = 0;
  // Of rows and columns: tiles, without those that read the same as the one
  // before, for which `all_input` has nothing either; of these, those that read
  // all elements.
  int64_t loads = 0;
  int64_t whole_loads = 0;
  // The same if nothing is read twice.
  int64_t loads_once = 0;
  int64_t input_once = 0;
};
AxisCut Cut(int64_t extent, int64_t size);
AxisCut CutWindow(const WindowAxis& axis, int64_t in_extent, int64_t out_extent,
                  int64_t size);
// Windows leave out rows or columns between them.
bool SkipsInput(const Layer& layer);

// Which of a layer's tensors stay in SRAM as a whole; the others pass through
// system memory tile by tile.
struct Residency {
  bool input = false;
  bool input2 = false;
  bool output = false;
  bool blocks = false;  // All of them are there already.
  bool operator==(const Residency&) const = default;
};

// Inputs that come from system memory.
int StreamedInputs(const Layer& layer, const Residency& residency);

// Bytes of SRAM that the layer needs beside resident tensors, with one buffer
// for each operand: the largest block, input slices and output slice, and sums.
int64_t TileBytes(const Layer& layer, const Tiling& tiling,
                  const Residency& residency);

// Along what layers may be cut.
struct Cuts {
  // 0: along all that follows. Else channels alone: a tile has all rows, or
  // this many where a command can have no more.
  int64_t all_rows_up_to = 0;
  bool channels_only() const { return all_rows_up_to > 0; }
};

// What the chip's registers and commands allow.
bool CanCutColumns(const Chip& chip, const Layer& layer, Cuts cuts);
bool CanCutInputs(const Chip& chip, const Layer& layer, Cuts cuts);
// Whether its registers hold the pitches of int32 sums of that many columns and
// channels.
bool SumsFit(const Chip& chip, int64_t columns, int64_t channels);

// One pixel, or all rows, of one output channel, over all input channels at
// once: cut further, a layer would take more commands than a stream can have
// long before a smaller SRAM paid.
Tiling SmallestTiling(const Chip& chip, const Layer& layer, Cuts cuts);
// The least SRAM with which the layer is planned at all: the smallest tile,
// nothing resident.
int64_t SmallestSram(const Chip& chip, const Layer& layer, Cuts cuts = {});

// Buffers that operands take turns in begin and end at multiples of this.
inline constexpr int64_t kSlotAlignment = 4;

}  // namespace edgekiln::compiler::dla

#endif  // EK_COMPILER_ENGINES_DLA_TILING_H_
