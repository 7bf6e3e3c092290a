#include "compiler/passes/split_requantization.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "compiler/ir/tensor_views.h"
#include "compiler/passes/graph_edit.h"
#include "ops/quantized_parameters.h"
#include "ops/shape_inference.h"

namespace edgekiln::compiler {
namespace {

// What an op becomes.
struct Halves {
  v1::OpAttributes accumulate;
  Tensor accumulator;  // Without a name.
  v1::OpAttributes requantize;
};

absl::Status HasNone(const Op& op, std::string what) {
  return MakeError(
      absl::StatusCode::kInvalidArgument,
      {.fault = Fault::kUser,
       .reason = "NO_ACCUMULATOR",
       .what = std::move(what),
       .where = absl::StrCat(op.id, " (", std::string(op.kind()), ")"),
       .need = "a convolution, fully connected or matmul of quantized integers "
               "with sums of 32 bits"});
}

// The clamp of a message that may have one, taken out of it.
template <typename Message>
v1::Clamp Taken(Message* message) {
  v1::Clamp clamp = message->clamp();
  message->clear_clamp();
  return clamp;
}

// The same of an op; nothing if it does not sum products.
std::optional<v1::Clamp> TakenClamp(v1::OpAttributes& attributes) {
  switch (attributes.op_case()) {
    case v1::OpAttributes::kConv2D:
      return Taken(attributes.mutable_conv2d());
    case v1::OpAttributes::kConv3D:
      return Taken(attributes.mutable_conv3d());
    case v1::OpAttributes::kDepthwiseConv2D:
      return Taken(attributes.mutable_depthwise_conv2d());
    case v1::OpAttributes::kTransposedConv:
      return Taken(attributes.mutable_transposed_conv());
    case v1::OpAttributes::kFullyConnected:
      return Taken(attributes.mutable_fully_connected());
    case v1::OpAttributes::kMatMul:
      return v1::Clamp();
    default:
      return std::nullopt;
  }
}

Tensor AccumulatorOf(const Tensor& x, const Tensor& weights, const Tensor& y) {
  Tensor accumulator;
  accumulator.type = v1::INT32;
  accumulator.shape = y.shape;
  Quantization q;
  q.scale = ops::AccumulatorScales(QuantizationOf(x), QuantizationOf(weights));
  q.zero_point.assign(q.scale.size(), 0);
  if (q.per_channel()) q.axis = static_cast<int32_t>(y.shape.size()) - 1;
  accumulator.quantization = std::move(q);
  return accumulator;
}

absl::StatusOr<Halves> HalvesOf(const Graph& graph, const Op& op) {
  Halves halves{
      .accumulate = op.attributes, .accumulator = {}, .requantize = {}};
  const std::optional<v1::Clamp> clamp = TakenClamp(halves.accumulate);
  if (!clamp) return HasNone(op, "no sum of products");
  halves.accumulate.clear_rounding();
  const Tensor& x = graph.tensors[op.inputs[0]];
  const Tensor& weights = graph.tensors[op.inputs[1]];
  const Tensor& y = graph.tensors[op.outputs[0]];
  if (!x.quantization || !weights.quantization || !y.quantization ||
      y.type == v1::INT32) {
    return HasNone(op, "nothing is requantized");
  }
  halves.accumulator = AccumulatorOf(x, weights, y);
  const absl::Status accepted =
      ops::CheckOp(halves.accumulate, ViewsOf(graph, op.inputs),
                   {ViewOf(halves.accumulator)});
  if (!accepted.ok()) {
    const std::optional<ErrorDetail> detail = GetErrorDetail(accepted);
    return HasNone(op, detail ? detail->what : std::string(accepted.message()));
  }
  EK_ASSIGN_OR_RETURN(
      const ops::QuantizedDotParameters fused,
      ops::DotParameters(*clamp, op.attributes.rounding(), QuantizationOf(x),
                         QuantizationOf(weights), QuantizationOf(y), y.type,
                         y.shape.back()));
  v1::Requantize& requantize = *halves.requantize.mutable_requantize();
  const size_t factors = halves.accumulator.quantization->scale.size();
  for (size_t c = 0; c < factors; ++c) {
    requantize.add_multiplier(fused.multiplier[c].multiplier);
    requantize.add_shift(fused.multiplier[c].shift);
  }
  if (HasBounds(*clamp)) *requantize.mutable_clamp() = *clamp;
  halves.requantize.set_rounding(op.attributes.rounding());
  return halves;
}

}  // namespace

absl::Status CheckSplitsRequantization(const Graph& graph, const Op& op) {
  return HalvesOf(graph, op).status();
}

absl::Status SplitRequantization(Graph& graph, absl::Span<const int32_t> ops) {
  std::vector<std::optional<Halves>> halves(graph.ops.size());
  for (const int32_t index : ops) {
    EK_ASSIGN_OR_RETURN(halves[index], HalvesOf(graph, graph.ops[index]));
  }
  FreshNames names(graph);
  std::vector<Op> rewritten;
  rewritten.reserve(graph.ops.size() + ops.size());
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    rewritten.push_back(std::move(graph.ops[i]));
    if (!halves[i]) continue;
    Op& op = rewritten.back();
    Tensor& accumulator = halves[i]->accumulator;
    accumulator.name = names.TensorName(
        absl::StrCat(graph.tensors[op.outputs[0]].name, ".accumulator"));
    const auto id = static_cast<TensorId>(graph.tensors.size());
    graph.tensors.push_back(std::move(accumulator));
    Op requantize;
    requantize.id = names.OpId(absl::StrCat(op.id, ".requantize"));
    requantize.name = op.name;
    requantize.attributes = std::move(halves[i]->requantize);
    requantize.inputs = {id};
    requantize.outputs = {op.outputs[0]};
    op.attributes = std::move(halves[i]->accumulate);
    op.outputs = {id};
    rewritten.push_back(std::move(requantize));
  }
  graph.ops = std::move(rewritten);
  return absl::OkStatus();
}

}  // namespace edgekiln::compiler
