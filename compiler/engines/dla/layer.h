#ifndef EK_COMPILER_ENGINES_DLA_LAYER_H_
#define EK_COMPILER_ENGINES_DLA_LAYER_H_

#include <compare>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "compiler/engines/dla/image_extent.h"
#include "compiler/ir/graph.h"
#include "compiler/planning/window_axis.h"
#include "ops/quantized_parameters.h"

// One op as the DLA sees it: images, a window, integer parameters. Everything
// after this file works on layers and knows no graph attributes.
namespace edgekiln::compiler::dla {

enum class LayerOp {
  kConv,
  kDepthwise,
  kMatMul,
  kAveragePool,
  kMaxPool,
  kAdd,
  // Element by element, in one quantization; the last two have two operands.
  kAbs,
  kLeakyRelu,
  kRelu,
  kMinimum,
  kMaximum,
  kRequantize,
  kAlias,  // Reshape: no command, the same bytes.
};

// Rows [h_begin, h_end), columns and channels alike, of a tensor.
struct Slice {
  int64_t h_begin = 0;
  int64_t h_end = 0;
  int64_t w_begin = 0;
  int64_t w_end = 0;
  int64_t c_begin = 0;
  int64_t c_end = 0;
  int64_t rows() const { return h_end - h_begin; }
  int64_t columns() const { return w_end - w_begin; }
  int64_t channels() const { return c_end - c_begin; }
  int64_t elements() const { return rows() * columns() * channels(); }
  bool operator==(const Slice&) const = default;
};

struct Layer {
  LayerOp op = LayerOp::kAlias;
  int32_t op_index = -1;  // Index into Graph::ops.
  TensorId input = kNoTensor;
  TensorId input2 = kNoTensor;  // If has_second_input().
  TensorId output = kNoTensor;
  ImageExtent in;
  ImageExtent out;
  // 1: int8. 4: int32 sums, which kRequantize reads and layers with weights may
  // write.
  int64_t in_bytes = 1;
  int64_t out_bytes = 1;
  WindowAxis vertical;
  WindowAxis horizontal;
  int64_t depth_multiplier = 1;
  // kDepthwise without a command of its own: a convolution of one input channel
  // after the other.
  bool by_channel = false;
  bool counts_padding = false;  // kAveragePool.
  bool half_even = false;       // How results are rounded; else half up.

  // kConv, kDepthwise, kMatMul; kRequantize has multipliers and clamp alone.
  ops::QuantizedDotParameters dot;
  TensorId weights = kNoTensor;
  TensorId bias = kNoTensor;
  // kAdd.
  ops::QuantizedAddParameters add;
  // Pools: limits of the result.
  ops::QuantizedRange clamp;
  // Pools: what padding counts as. kAbs, kLeakyRelu, kRelu: where real 0 is.
  int32_t zero_point = 0;
  ops::FixedPointMultiplier slope;  // kLeakyRelu, of what lies below 0.

  bool has_second_input() const {
    return op == LayerOp::kAdd || op == LayerOp::kMinimum ||
           op == LayerOp::kMaximum;
  }
  // One operand and the result, element by element, in one quantization.
  bool maps_values() const {
    return op == LayerOp::kAbs || op == LayerOp::kLeakyRelu ||
           op == LayerOp::kRelu;
  }
  bool has_weights() const {
    return op == LayerOp::kConv || op == LayerOp::kDepthwise ||
           op == LayerOp::kMatMul;
  }
  // It reads a block: the table, and weights if it has them.
  bool has_block() const { return has_weights() || op == LayerOp::kRequantize; }
  // It writes int32 sums, which another layer requantizes.
  bool gives_sums() const { return has_weights() && out_bytes > 1; }
  // Each output channel reads its own input channels only.
  bool channelwise() const {
    return op == LayerOp::kDepthwise || op == LayerOp::kAveragePool ||
           op == LayerOp::kMaxPool || op == LayerOp::kRequantize ||
           has_second_input() || maps_values();
  }
  // Several commands can sum up an output, each over some input channels.
  bool sums_up() const {
    return op == LayerOp::kConv || op == LayerOp::kMatMul;
  }
  // Bytes of these elements of the input or output.
  int64_t InputBytes(const Slice& slice) const {
    return slice.elements() * in_bytes;
  }
  int64_t OutputBytes(const Slice& slice) const {
    return slice.elements() * out_bytes;
  }
  int64_t in_row_bytes() const { return in.row_elements() * in_bytes; }
  int64_t out_row_bytes() const { return out.row_elements() * out_bytes; }
  int64_t all_in_bytes() const { return in.elements() * in_bytes; }
  int64_t all_out_bytes() const { return out.elements() * out_bytes; }
  // int32 tensors lie at multiples of 4, so the buffers beside them end there.
  bool aligned() const { return in_bytes > 1 || out_bytes > 1; }
};

// `op` must have been placed on the DLA by PartitionGraph. INTERNAL if it is of
// another kind, INVALID_ARGUMENT if its quantization does not hold together.
absl::StatusOr<Layer> LayerOf(const Graph& graph, int32_t op_index);

// Elements [begin, end) of an input axis that outputs read, and how far the
// first window starts before them.
struct AxisInput {
  int64_t begin = 0;
  int64_t end = 0;
  int64_t pad = 0;
};
AxisInput InputOfAxis(const WindowAxis& axis, int64_t extent,
                      int64_t output_begin, int64_t output_end);

// The part of the input that an output slice reads, and how far its first
// window starts above it and left of it.
struct InputSlice {
  Slice slice;
  int64_t pad_top = 0;
  int64_t pad_left = 0;
};
InputSlice InputOf(const Layer& layer, const Slice& output);

// Output channels of a block, and the input channels that its weights are for:
// all of them, but where a layer sums_up().
struct BlockChannels {
  int64_t begin = 0;
  int64_t end = 0;
  int64_t in_begin = 0;
  int64_t in_end = 0;
  int64_t channels() const { return end - begin; }
  auto operator<=>(const BlockChannels&) const = default;
};

// Bytes of a block: the table of `channels` entries, then the weights of the
// same output channels for `in_channels`. 0 for layers without a block.
inline constexpr int64_t kTableEntryBytes = 12;
int64_t BlockBytes(const Layer& layer, int64_t channels, int64_t in_channels);

// Inputs, block and output, each once. 0 for kAlias.
int64_t CompulsoryBytes(const Layer& layer);

// A block as it lies in flash and SRAM: table, then weights as the layer's
// command reads them. Biases are in the blocks of the first input channels
// alone, so that sums have them once.
std::string PackBlock(const Graph& graph, const Layer& layer,
                      const BlockChannels& of);

}  // namespace edgekiln::compiler::dla

#endif  // EK_COMPILER_ENGINES_DLA_LAYER_H_
