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

// The two halves of an op.
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

// Calls `visit` with the message of an op that sums products and may clamp.
// False if it is none.
template <typename Visit>
bool VisitClamping(v1::OpAttributes& attributes, const Visit& visit) {
  switch (attributes.op_case()) {
    case v1::OpAttributes::kConv2D:
      visit(*attributes.mutable_conv2d());
      return true;
    case v1::OpAttributes::kConv3D:
      visit(*attributes.mutable_conv3d());
      return true;
    case v1::OpAttributes::kDepthwiseConv2D:
      visit(*attributes.mutable_depthwise_conv2d());
      return true;
    case v1::OpAttributes::kTransposedConv:
      visit(*attributes.mutable_transposed_conv());
      return true;
    case v1::OpAttributes::kFullyConnected:
      visit(*attributes.mutable_fully_connected());
      return true;
    default:
      return false;
  }
}

// Removes and returns the clamp of an op; nothing if it does not sum products.
std::optional<v1::Clamp> TakenClamp(v1::OpAttributes& attributes) {
  v1::Clamp clamp;
  const bool clamps = VisitClamping(attributes, [&](auto& message) {
    clamp = message.clamp();
    message.clear_clamp();
  });
  if (!clamps && !attributes.has_mat_mul()) return std::nullopt;
  return clamp;
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
  halves.accumulate.clear_converter();
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
  const bool converts = op.attributes.has_converter();
  if (converts) {
    *halves.requantize.mutable_converter() = op.attributes.converter();
  }
  const size_t factors =
      converts ? 0 : halves.accumulator.quantization->scale.size();
  for (size_t c = 0; c < factors; ++c) {
    requantize.add_multiplier(fused.multiplier[c].multiplier);
    requantize.add_shift(fused.multiplier[c].shift);
  }
  if (HasBounds(*clamp)) *requantize.mutable_clamp() = *clamp;
  halves.requantize.set_rounding(op.attributes.rounding());
  return halves;
}

// The op that was split into these two; nothing if they are not such a pair.
std::optional<Op> Joined(const Graph& graph, const Op& sums,
                         const Op& requantize) {
  Op op = sums;
  op.outputs = requantize.outputs;
  op.attributes.set_rounding(requantize.attributes.rounding());
  if (requantize.attributes.has_converter()) {
    *op.attributes.mutable_converter() = requantize.attributes.converter();
  }
  const v1::Requantize& second = requantize.attributes.requantize();
  if (second.has_clamp()) {
    VisitClamping(op.attributes, [&](auto& message) {
      *message.mutable_clamp() = second.clamp();
    });
  }
  const absl::StatusOr<Halves> halves = HalvesOf(graph, op);
  if (!halves.ok()) return std::nullopt;
  const auto same = [](const v1::OpAttributes& a, const v1::OpAttributes& b) {
    return a.SerializeAsString() == b.SerializeAsString();
  };
  const Tensor& accumulator = graph.tensors[sums.outputs[0]];
  const bool made_so =
      same(halves->accumulate, sums.attributes) &&
      same(halves->requantize, requantize.attributes) &&
      accumulator.type == halves->accumulator.type &&
      accumulator.shape == halves->accumulator.shape &&
      accumulator.quantization == halves->accumulator.quantization;
  if (!made_so) return std::nullopt;
  return op;
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

std::vector<bool> JoinRequantization(Graph& graph) {
  const std::vector<int32_t> producers = Producers(graph);
  const std::vector<std::vector<int32_t>> readers = Consumers(graph);
  std::vector<bool> is_output(graph.tensors.size(), false);
  for (const TensorId output : graph.outputs) is_output[output] = true;
  std::vector<std::optional<Op>> joined(graph.ops.size());
  std::vector<bool> gone(graph.ops.size(), false);
  auto kept = static_cast<TensorId>(graph.tensors.size());
  for (; kept > 0; --kept) {
    const TensorId last = kept - 1;
    if (producers[last] < 0 || readers[last].size() != 1 || is_output[last]) {
      break;
    }
    const int32_t sums = producers[last];
    const int32_t requantize = readers[last][0];
    if (requantize != sums + 1 ||
        !graph.ops[requantize].attributes.has_requantize()) {
      break;
    }
    joined[sums] = Joined(graph, graph.ops[sums], graph.ops[requantize]);
    if (!joined[sums]) break;
    gone[requantize] = true;
  }
  graph.tensors.resize(kept);
  std::vector<Op> rewritten;
  std::vector<bool> was_joined;
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    if (gone[i]) continue;
    was_joined.push_back(joined[i].has_value());
    rewritten.push_back(joined[i] ? *std::move(joined[i])
                                  : std::move(graph.ops[i]));
  }
  graph.ops = std::move(rewritten);
  return was_joined;
}

}  // namespace edgekiln::compiler
