#include "compiler/engines/dla/compute_command.h"

#include <algorithm>

namespace edgekiln::compiler::dla {
namespace {

using R = DlaRegister;

void SetInput(const Placement& input, RegisterFile& r) {
  r.Set(R::kInAddr, input.offset);
  r.Set(R::kInRowPitch, input.row_pitch);
  r.Set(R::kInPixelPitch, input.pixel_pitch);
}

void SetInput2(const Placement& input, RegisterFile& r) {
  r.Set(R::kIn2Addr, input.offset);
  r.Set(R::kIn2RowPitch, input.row_pitch);
  r.Set(R::kIn2PixelPitch, input.pixel_pitch);
}

void SetOutput(const Slice& output, const Placement& place, RegisterFile& r) {
  r.Set(R::kOutAddr, place.offset);
  r.Set(R::kOutRowPitch, place.row_pitch);
  r.Set(R::kOutPixelPitch, place.pixel_pitch);
  r.Set(R::kOutH, output.rows());
  r.Set(R::kOutW, output.columns());
  r.Set(R::kOutC, output.channels());
}

void SetWindow(const Layer& layer, const Slice& output, RegisterFile& r) {
  const InputSlice input = InputOf(layer, output);
  r.Set(R::kInH, input.slice.rows());
  r.Set(R::kInW, input.slice.columns());
  r.Set(R::kInC, input.slice.channels());
  r.Set(R::kKernelH, layer.vertical.kernel);
  r.Set(R::kKernelW, layer.horizontal.kernel);
  r.Set(R::kStrideH, layer.vertical.stride);
  r.Set(R::kStrideW, layer.horizontal.stride);
  r.Set(R::kPadTop, input.pad_top);
  r.Set(R::kPadLeft, input.pad_left);
}

// Zero points and the block. `sums`: the command writes int32.
void SetDot(const Layer& layer, const Slice& output, bool sums,
            RegisterFile& r) {
  r.Set(R::kTableAddr, 0);
  r.Set(R::kWeightAddr, output.channels() * kTableEntryBytes);
  r.Set(R::kInZeroPoint, layer.dot.input_zero_point);
  r.Set(R::kWeightZeroPoint, layer.dot.weight_zero_point);
  r.Set(R::kFlags, sums ? target::kDlaOutInt32 : 0);
  if (!sums) {
    r.Set(R::kOutZeroPoint, layer.dot.output_zero_point);
  }
}

void SetClamp(const ops::QuantizedRange& clamp, RegisterFile& r) {
  r.Set(R::kClampMin, clamp.min);
  r.Set(R::kClampMax, clamp.max);
}

ComputeCommand Convolution(const Layer& layer, const Slice& output,
                           const TileOperands& operands, bool sums) {
  ComputeCommand result;
  RegisterFile& r = result.registers;
  SetInput(operands.input, r);
  SetOutput(output, operands.output, r);
  SetWindow(layer, output, r);
  r.Set(R::kDilationH, layer.vertical.dilation);
  r.Set(R::kDilationW, layer.horizontal.dilation);
  SetDot(layer, output, sums, r);
  if (layer.op == LayerOp::kDepthwise && !layer.by_channel) {
    result.command = DlaCommand::kDepthConv;
    r.Set(R::kDepthMultiplier, layer.depth_multiplier);
    if (!sums) SetClamp(layer.dot.clamp, r);
  } else if (sums || layer.dot.clamp == ops::RangeOf(v1::INT8)) {
    result.command = DlaCommand::kConv;
  } else {
    result.command = DlaCommand::kConvRelu;
    SetClamp(layer.dot.clamp, r);
  }
  return result;
}

// Rows of the matrix are the pixels of the slice: they are dense in memory.
ComputeCommand MatMul(const Layer& layer, const Slice& output,
                      const TileOperands& operands, bool sums) {
  ComputeCommand result;
  result.command = DlaCommand::kMatMul;
  RegisterFile& r = result.registers;
  r.Set(R::kInAddr, operands.input.offset);
  r.Set(R::kInPixelPitch, operands.input.pixel_pitch);
  r.Set(R::kInC, layer.in.c);
  r.Set(R::kOutAddr, operands.output.offset);
  r.Set(R::kOutPixelPitch, operands.output.pixel_pitch);
  r.Set(R::kOutW, output.rows() * output.columns());
  r.Set(R::kOutC, output.channels());
  SetDot(layer, output, sums, r);
  if (!sums) SetClamp(layer.dot.clamp, r);
  return result;
}

ComputeCommand Requantize(const Layer& layer, const Slice& output,
                          const TileOperands& operands) {
  ComputeCommand result;
  result.command = DlaCommand::kRequant;
  RegisterFile& r = result.registers;
  SetInput(operands.input, r);
  SetOutput(output, operands.output, r);
  r.Set(R::kTableAddr, 0);
  r.Set(R::kOutZeroPoint, layer.dot.output_zero_point);
  SetClamp(layer.dot.clamp, r);
  return result;
}

ComputeCommand Pool(const Layer& layer, const Slice& output,
                    const TileOperands& operands) {
  ComputeCommand result;
  result.command = DlaCommand::kPool;
  RegisterFile& r = result.registers;
  SetInput(operands.input, r);
  SetOutput(output, operands.output, r);
  SetWindow(layer, output, r);
  SetClamp(layer.clamp, r);
  r.Set(R::kInZeroPoint, layer.zero_point);
  r.Set(R::kPoolKind, layer.op == LayerOp::kMaxPool ? target::kDlaPoolMax
                      : layer.counts_padding ? target::kDlaPoolAveragePadded
                                             : target::kDlaPoolAverage);
  return result;
}

ComputeCommand Add(const Layer& layer, const Slice& output,
                   const TileOperands& operands) {
  ComputeCommand result;
  result.command = DlaCommand::kAdd;
  RegisterFile& r = result.registers;
  SetInput(operands.input, r);
  SetInput2(operands.input2, r);
  SetOutput(output, operands.output, r);
  const ops::QuantizedAddParameters& add = layer.add;
  r.Set(R::kInZeroPoint, add.zero_point[0]);
  r.Set(R::kIn2ZeroPoint, add.zero_point[1]);
  r.Set(R::kOutZeroPoint, add.output_zero_point);
  r.Set(R::kInMultiplier, add.multiplier[0].multiplier);
  r.Set(R::kInShift, add.multiplier[0].shift);
  r.Set(R::kIn2Multiplier, add.multiplier[1].multiplier);
  r.Set(R::kIn2Shift, add.multiplier[1].shift);
  r.Set(R::kOutMultiplier, add.output_multiplier.multiplier);
  r.Set(R::kOutShift, add.output_multiplier.shift);
  r.Set(R::kLeftShift, add.left_shift);
  SetClamp(add.clamp, r);
  return result;
}

ComputeCommand Map(DlaCommand command, const Layer& layer, const Slice& output,
                   const TileOperands& operands) {
  ComputeCommand result;
  result.command = command;
  RegisterFile& r = result.registers;
  SetInput(operands.input, r);
  SetOutput(output, operands.output, r);
  r.Set(R::kInZeroPoint, layer.zero_point);
  if (command == DlaCommand::kActLrelu) {
    r.Set(R::kInMultiplier, layer.slope.multiplier);
    r.Set(R::kInShift, layer.slope.shift);
  }
  return result;
}

// The smaller or larger one of two elements.
ComputeCommand Extreme(DlaCommand command, const Slice& output,
                       const TileOperands& operands) {
  ComputeCommand result;
  result.command = command;
  RegisterFile& r = result.registers;
  SetInput(operands.input, r);
  SetInput2(operands.input2, r);
  SetOutput(output, operands.output, r);
  return result;
}

ComputeCommand CommandOf(const Layer& layer, const Slice& output,
                         const TileOperands& operands) {
  switch (layer.op) {
    case LayerOp::kMatMul:
      return MatMul(layer, output, operands, layer.gives_sums());
    case LayerOp::kAveragePool:
    case LayerOp::kMaxPool:
      return Pool(layer, output, operands);
    case LayerOp::kAdd:
      return Add(layer, output, operands);
    case LayerOp::kAbs:
      return Map(DlaCommand::kAbs, layer, output, operands);
    case LayerOp::kLeakyRelu:
      return Map(DlaCommand::kActLrelu, layer, output, operands);
    case LayerOp::kRelu:
      return Map(DlaCommand::kActRelu, layer, output, operands);
    case LayerOp::kMinimum:
      return Extreme(DlaCommand::kMin, output, operands);
    case LayerOp::kMaximum:
      return Extreme(DlaCommand::kMax, output, operands);
    case LayerOp::kRequantize:
      return Requantize(layer, output, operands);
    default:
      return Convolution(layer, output, operands, layer.gives_sums());
  }
}

// One convolution for each input channel, to the outputs that it has in the
// slice. In the block their tables and weights lie in the same order.
void AddChannels(const Layer& layer, const Slice& output,
                 const TileOperands& operands,
                 std::vector<ComputeCommand>& commands) {
  const Slice input = InputOf(layer, output).slice;
  const int64_t window = layer.vertical.kernel * layer.horizontal.kernel;
  for (int64_t in = input.c_begin; in < input.c_end; ++in) {
    Slice part = output;
    part.c_begin = std::max(output.c_begin, in * layer.depth_multiplier);
    part.c_end = std::min(output.c_end, (in + 1) * layer.depth_multiplier);
    const int64_t before = part.c_begin - output.c_begin;
    TileOperands at = operands;
    at.input.offset += in - input.c_begin;
    at.output.offset += before * layer.out_bytes;
    ComputeCommand& command = commands.emplace_back(CommandOf(layer, part, at));
    command.registers.Set(R::kTableAddr, before * kTableEntryBytes);
    command.registers.Set(
        R::kWeightAddr, output.channels() * kTableEntryBytes + before * window);
  }
}

}  // namespace

Placement DensePlacement(int64_t element_bytes, const Slice& slice) {
  const int64_t pixel = slice.channels() * element_bytes;
  return {0, slice.columns() * pixel, pixel};
}

Placement WholePlacement(const ImageExtent& tensor, int64_t element_bytes,
                         const Slice& slice) {
  const int64_t first = slice.h_begin * tensor.row_elements() +
                        slice.w_begin * tensor.c + slice.c_begin;
  return {first * element_bytes, tensor.row_elements() * element_bytes,
          tensor.c * element_bytes};
}

std::vector<ComputeCommand> ComputeSlice(const Layer& layer,
                                         const Slice& output,
                                         const TileOperands& operands) {
  std::vector<ComputeCommand> commands;
  if (!layer.by_channel) {
    commands.push_back(FirstOfSlice(layer, output, operands));
    return commands;
  }
  AddChannels(layer, output, operands, commands);
  for (ComputeCommand& command : commands) command.half_even = layer.half_even;
  return commands;
}

ComputeCommand FirstOfSlice(const Layer& layer, const Slice& output,
                            const TileOperands& operands) {
  if (layer.by_channel) return ComputeSlice(layer, output, operands).front();
  ComputeCommand command = CommandOf(layer, output, operands);
  command.half_even = layer.half_even;
  return command;
}

ComputeCommand PartialSums(const Layer& layer, const Slice& output,
                           const BlockChannels& block, const Placement& input,
                           const Placement& sums) {
  const TileOperands operands = {.input = input, .input2 = {}, .output = sums};
  ComputeCommand result =
      layer.op == LayerOp::kMatMul
          ? MatMul(layer, output, operands, /*sums=*/true)
          : Convolution(layer, output, operands, /*sums=*/true);
  result.registers.Set(R::kInC, block.in_end - block.in_begin);
  return result;
}

ComputeCommand AddSums(const Slice& output, const Placement& sums,
                       const Placement& more) {
  ComputeCommand result;
  result.command = DlaCommand::kAdd32;
  RegisterFile& r = result.registers;
  SetInput(sums, r);
  SetInput2(more, r);
  SetOutput(output, sums, r);
  return result;
}

ComputeCommand RequantizeSums(const Layer& layer, const Slice& output,
                              const Placement& sums, const Placement& result) {
  ComputeCommand command = Requantize(
      layer, output, {.input = sums, .input2 = {}, .output = result});
  command.half_even = layer.half_even;
  return command;
}

ComputeCommand CopyBytes(int64_t rows, int64_t columns, int64_t bytes,
                         int64_t from, int64_t to) {
  const Slice slice = {0, rows, 0, columns, 0, bytes};
  Placement in = DensePlacement(1, slice);
  Placement out = in;
  in.offset = from;
  out.offset = to;
  return Extreme(DlaCommand::kMax, slice,
                 {.input = in, .input2 = in, .output = out});
}

}  // namespace edgekiln::compiler::dla
