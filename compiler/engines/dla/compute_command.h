#ifndef EK_COMPILER_ENGINES_DLA_COMPUTE_COMMAND_H_
#define EK_COMPILER_ENGINES_DLA_COMPUTE_COMMAND_H_

#include <vector>

#include "compiler/engines/dla/chip.h"
#include "compiler/engines/dla/layer.h"

// From an output slice of a layer to the command that computes it.
namespace edgekiln::compiler::dla {

// Where a tensor's slice lies relative to its buffer.
struct Placement {
  int64_t offset = 0;       // Of the slice's first element.
  int64_t row_pitch = 0;    // Bytes.
  int64_t pixel_pitch = 0;  // Bytes.
};

// A slice packed densely into a buffer of its own.
Placement DensePlacement(int64_t element_bytes, const Slice& slice);
// A slice of a tensor that lies in its buffer as a whole.
Placement WholePlacement(const ImageExtent& tensor, int64_t element_bytes,
                         const Slice& slice);

// Buffer-relative addresses of one tile.
struct TileOperands {
  Placement input;
  Placement input2;  // Layer::has_second_input().
  Placement output;
};

struct ComputeCommand {
  DlaCommand command = DlaCommand::kConv;
  bool half_even = false;
  RegisterFile registers;  // Addresses hold the operands' offsets.
};

// `output` within layer.out. The weight block's table comes first. Commands in
// order: more than one for a layer that is computed by channel.
std::vector<ComputeCommand> ComputeSlice(const Layer& layer,
                                         const Slice& output,
                                         const TileOperands& operands);
// The first of them.
ComputeCommand FirstOfSlice(const Layer& layer, const Slice& output,
                            const TileOperands& operands);

// A tile that is summed up over several blocks of input channels: int32 sums of
// the first, those of each other one added to them, and, unless the layer gives
// sums, requantized with the last block's table. Of a layer that sums_up().
inline constexpr int64_t kSumBytes = 4;
ComputeCommand PartialSums(const Layer& layer, const Slice& output,
                           const BlockChannels& block, const Placement& input,
                           const Placement& sums);
// sums += more.
ComputeCommand AddSums(const Slice& output, const Placement& sums,
                       const Placement& more);
ComputeCommand RequantizeSums(const Layer& layer, const Slice& output,
                              const Placement& sums, const Placement& result);

// Bytes of rows, dense in SRAM, at one place to another that does not overlap
// it: OP_C_MAX of them and themselves.
ComputeCommand CopyBytes(int64_t rows, int64_t columns, int64_t bytes,
                         int64_t from, int64_t to);

}  // namespace edgekiln::compiler::dla

#endif  // EK_COMPILER_ENGINES_DLA_COMPUTE_COMMAND_H_
