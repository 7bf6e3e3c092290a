#include "compiler/engines/dla/layer.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/status_macros.h"
#include "compiler/ir/tensor_views.h"
#include "ops/leaky_relu.h"
#include "target/layout.h"

namespace edgekiln::compiler::dla {
namespace {

absl::Status NoCommand(const Op& op) {
  return absl::InternalError(
      absl::StrCat("op ", op.id, " (", op.kind(), ") has no DLA command"));
}

void SetWindow(const v1::Window2d& window, int64_t kernel_h, int64_t kernel_w,
               Layer& layer) {
  layer.vertical = {kernel_h, window.stride_h(), window.dilation_h(),
                    window.pad_top()};
  layer.horizontal = {kernel_w, window.stride_w(), window.dilation_w(),
                      window.pad_left()};
}

absl::Status SetDot(const Graph& graph, const Op& op, const v1::Clamp& clamp,
                    Layer& layer) {
  layer.weights = op.inputs[1];
  layer.bias = op.inputs.size() > 2 ? op.inputs[2] : kNoTensor;
  const Tensor& output = graph.tensors[layer.output];
  if (layer.gives_sums()) {
    EK_ASSIGN_OR_RETURN(
        layer.dot,
        ops::AccumulatorParameters(QuantizationOf(graph.tensors[layer.input]),
                                   QuantizationOf(graph.tensors[layer.weights]),
                                   layer.out.c));
    return absl::OkStatus();
  }
  EK_ASSIGN_OR_RETURN(
      layer.dot,
      ops::DotParameters(clamp, op.attributes.rounding(),
                         QuantizationOf(graph.tensors[layer.input]),
                         QuantizationOf(graph.tensors[layer.weights]),
                         QuantizationOf(output), output.type, layer.out.c));
  return absl::OkStatus();
}

absl::Status SetAdd(const Graph& graph, const Op& op, Layer& layer) {
  const Tensor& output = graph.tensors[layer.output];
  EK_ASSIGN_OR_RETURN(
      layer.add,
      ops::AddParameters(op.attributes.add().clamp(), op.attributes.rounding(),
                         QuantizationOf(graph.tensors[layer.input]),
                         QuantizationOf(graph.tensors[layer.input2]),
                         QuantizationOf(output), output.type));
  return absl::OkStatus();
}

// The sums have their biases already.
absl::Status SetRequantize(const Graph& graph, const Op& op, Layer& layer) {
  const Tensor& output = graph.tensors[layer.output];
  EK_ASSIGN_OR_RETURN(layer.dot,
                      ops::RequantizeParameters(
                          op.attributes.requantize(), op.attributes.rounding(),
                          QuantizationOf(output), output.type, layer.out.c));
  return absl::OkStatus();
}

void SetPool(const Graph& graph, const v1::Clamp& clamp, v1::Rounding rounding,
             Layer& layer) {
  const Tensor& output = graph.tensors[layer.output];
  layer.clamp =
      ops::ClampRange(clamp, rounding, QuantizationOf(output), output.type);
  layer.zero_point = output.quantization->zero_point[0];
}

// An op of one operand whose result has the same quantization. `half_even`
// stays where the command rounds.
absl::Status SetMap(const Graph& graph, const Op& op, LayerOp kind,
                    Layer& layer) {
  const Tensor& output = graph.tensors[layer.output];
  layer.op = kind;
  layer.zero_point = output.quantization->zero_point[0];
  layer.half_even = false;
  if (kind != LayerOp::kLeakyRelu) return absl::OkStatus();
  const auto slope =
      ops::LeakyReluMultiplier(op.attributes.unary(), op.attributes.rounding(),
                               QuantizationOf(output), output.type);
  if (!slope) {
    return absl::InvalidArgumentError("the slope has no multiplier");
  }
  layer.slope = *slope;
  layer.half_even = slope->rounding == v1::HALF_EVEN;
  return absl::OkStatus();
}

absl::Status SetUnary(const Graph& graph, const Op& op, Layer& layer) {
  switch (op.attributes.unary().function()) {
    case v1::Unary::ABS:
      return SetMap(graph, op, LayerOp::kAbs, layer);
    case v1::Unary::LEAKY_RELU:
      return SetMap(graph, op, LayerOp::kLeakyRelu, layer);
    default:
      return NoCommand(op);
  }
}

absl::Status SetBinary(const Op& op, Layer& layer) {
  layer.input2 = op.inputs[1];
  layer.half_even = false;  // Nothing to round.
  switch (op.attributes.binary().function()) {
    case v1::Binary::MINIMUM:
      layer.op = LayerOp::kMinimum;
      return absl::OkStatus();
    case v1::Binary::MAXIMUM:
      layer.op = LayerOp::kMaximum;
      return absl::OkStatus();
    default:
      return NoCommand(op);
  }
}

// Sets what depends on the kind of op.
absl::Status SetOp(const Graph& graph, const Op& op, Layer& layer) {
  const v1::OpAttributes& attributes = op.attributes;
  switch (attributes.op_case()) {
    case v1::OpAttributes::kConv2D: {
      layer.op = LayerOp::kConv;
      const auto& shape = graph.tensors[op.inputs[1]].shape;
      SetWindow(attributes.conv2d().window(), shape[1], shape[2], layer);
      return SetDot(graph, op, attributes.conv2d().clamp(), layer);
    }
    case v1::OpAttributes::kDepthwiseConv2D: {
      layer.op = LayerOp::kDepthwise;
      const auto& shape = graph.tensors[op.inputs[1]].shape;
      const auto& depthwise = attributes.depthwise_conv2d();
      layer.depth_multiplier = depthwise.depth_multiplier();
      SetWindow(depthwise.window(), shape[1], shape[2], layer);
      return SetDot(graph, op, depthwise.clamp(), layer);
    }
    case v1::OpAttributes::kFullyConnected: {
      layer.op = LayerOp::kMatMul;
      // One row of K input values per output pixel, whatever the input's shape.
      layer.in = {layer.out.h, layer.out.w,
                  graph.tensors[op.inputs[1]].shape[1]};
      return SetDot(graph, op, attributes.fully_connected().clamp(), layer);
    }
    case v1::OpAttributes::kAveragePool2D: {
      layer.op = LayerOp::kAveragePool;
      const auto& pool = attributes.average_pool2d();
      layer.counts_padding = pool.count_include_pad();
      SetWindow(pool.window(), pool.kernel_h(), pool.kernel_w(), layer);
      SetPool(graph, pool.clamp(), attributes.rounding(), layer);
      return absl::OkStatus();
    }
    case v1::OpAttributes::kMaxPool2D: {
      layer.op = LayerOp::kMaxPool;
      const auto& pool = attributes.max_pool2d();
      SetWindow(pool.window(), pool.kernel_h(), pool.kernel_w(), layer);
      SetPool(graph, pool.clamp(), attributes.rounding(), layer);
      return absl::OkStatus();
    }
    case v1::OpAttributes::kAdd:
      layer.op = LayerOp::kAdd;
      layer.input2 = op.inputs[1];
      return SetAdd(graph, op, layer);
    case v1::OpAttributes::kClip:
      return SetMap(graph, op, LayerOp::kRelu, layer);
    case v1::OpAttributes::kUnary:
      return SetUnary(graph, op, layer);
    case v1::OpAttributes::kBinary:
      return SetBinary(op, layer);
    case v1::OpAttributes::kRequantize:
      layer.op = LayerOp::kRequantize;
      return SetRequantize(graph, op, layer);
    case v1::OpAttributes::kReshape:
      layer.op = LayerOp::kAlias;
      return absl::OkStatus();
    default:
      return NoCommand(op);
  }
}

void AppendInt32(int32_t value, std::string& out) {
  const auto bits = static_cast<uint32_t>(value);
  for (int shift = 0; shift < 32; shift += 8) {
    out.push_back(static_cast<char>((bits >> shift) & 0xff));
  }
}

int32_t BiasAt(const Graph& graph, const Layer& layer, int64_t channel) {
  if (layer.bias == kNoTensor) return 0;
  int32_t value = 0;
  std::memcpy(&value, graph.tensors[layer.bias].data->data() + channel * 4, 4);
  return value;
}

}  // namespace

absl::StatusOr<Layer> LayerOf(const Graph& graph, int32_t op_index) {
  const Op& op = graph.ops[op_index];
  Layer layer;
  layer.op_index = op_index;
  layer.input = op.inputs[0];
  layer.output = op.outputs[0];
  layer.in = ImageExtentOf(graph.tensors[layer.input].shape);
  layer.out = ImageExtentOf(graph.tensors[layer.output].shape);
  layer.in_bytes = ElementBytes(graph.tensors[layer.input].type);
  layer.out_bytes = ElementBytes(graph.tensors[layer.output].type);
  layer.half_even = op.attributes.rounding() == v1::HALF_EVEN;
  EK_RETURN_IF_ERROR(SetOp(graph, op, layer), absl::StrCat("op ", op.id));
  return layer;
}

AxisInput InputOfAxis(const WindowAxis& axis, int64_t extent,
                      int64_t output_begin, int64_t output_end) {
  const int64_t first = output_begin * axis.stride - axis.pad_before;
  const int64_t span = axis.Span(output_end - output_begin);
  if (first + span <= 0 || first >= extent) {
    // Only padding: any element serves, as long as no window reaches it.
    return {.begin = 0, .end = 1, .pad = span};
  }
  const int64_t begin = std::max<int64_t>(first, 0);
  return {.begin = begin,
          .end = std::min(first + span, extent),
          .pad = begin - first};
}

InputSlice InputOf(const Layer& layer, const Slice& output) {
  const AxisInput rows =
      InputOfAxis(layer.vertical, layer.in.h, output.h_begin, output.h_end);
  const AxisInput columns =
      InputOfAxis(layer.horizontal, layer.in.w, output.w_begin, output.w_end);
  InputSlice input;
  input.slice = {rows.begin,  rows.end, columns.begin,
                 columns.end, 0,        layer.in.c};
  input.pad_top = rows.pad;
  input.pad_left = columns.pad;
  if (layer.channelwise()) {
    input.slice.c_begin = output.c_begin / layer.depth_multiplier;
    input.slice.c_end = (output.c_end - 1) / layer.depth_multiplier + 1;
  }
  return input;
}

int64_t BlockBytes(const Layer& layer, int64_t channels, int64_t in_channels) {
  if (!layer.has_block()) return 0;
  if (!layer.has_weights()) return channels * kTableEntryBytes;
  const int64_t window = layer.vertical.kernel * layer.horizontal.kernel;
  const int64_t per_channel =
      layer.op == LayerOp::kDepthwise ? window : window * in_channels;
  return channels * (kTableEntryBytes + per_channel);
}

int64_t CompulsoryBytes(const Layer& layer) {
  if (layer.op == LayerOp::kAlias) return 0;
  const int64_t inputs = layer.input2 == kNoTensor ? 1 : 2;
  return inputs * layer.all_in_bytes() +
         BlockBytes(layer, layer.out.c, layer.in.c) + layer.all_out_bytes();
}

std::string PackBlock(const Graph& graph, const Layer& layer,
                      const BlockChannels& of) {
  std::string block;
  block.reserve(BlockBytes(layer, of.channels(), of.in_end - of.in_begin));
  for (int64_t c = of.begin; c < of.end; ++c) {
    AppendInt32(of.in_begin == 0 ? BiasAt(graph, layer, c) : 0, block);
    // Of sums the command reads the bias alone.
    const ops::FixedPointMultiplier multiplier =
        layer.gives_sums() ? ops::FixedPointMultiplier()
                           : layer.dot.multiplier[c];
    AppendInt32(multiplier.multiplier, block);
    AppendInt32(multiplier.shift, block);
  }
  if (!layer.has_weights()) return block;
  // Output channels are the last axis of a depthwise kernel, else the first.
  const Tensor& weights = graph.tensors[layer.weights];
  const int axis = layer.op == LayerOp::kDepthwise
                       ? static_cast<int>(weights.shape.size()) - 1
                       : 0;
  v1::Box channels = target::WholeBox(weights.shape);
  channels.set_begin(axis, of.begin);
  channels.set_end(axis, of.end);
  if (layer.sums_up()) {
    const int last = static_cast<int>(weights.shape.size()) - 1;
    channels.set_begin(last, of.in_begin);
    channels.set_end(last, of.in_end);
  }
  const target::Layout part =
      target::Layout::OfBox(channels, weights.shape, 1).value();
  std::string dense(static_cast<size_t>(part.dense_bytes()), '\0');
  part.Gather(weights.data->data(), dense.data());
  if (!layer.by_channel) return block + dense;
  // From [tap][channel] to [channel][tap].
  const auto channels_here = static_cast<size_t>(of.channels());
  for (size_t c = 0; c < channels_here; ++c) {
    for (size_t i = c; i < dense.size(); i += channels_here) block += dense[i];
  }
  return block;
}

}  // namespace edgekiln::compiler::dla
