#include "compiler/passes/split_requantization.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "compiler/ir/tensor_views.h"
#include "compiler/passes/clamps.h"
#include "compiler/passes/op_halves.h"
#include "ops/quantized_parameters.h"
#include "ops/shape_inference.h"

namespace edgekiln::compiler {
namespace {

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

absl::StatusOr<OpHalves> HalvesOf(const Graph& graph, const Op& op) {
  OpHalves halves{.first = op.attributes, .between = {}, .second = {}};
  const std::optional<v1::Clamp> clamp = TakenClamp(halves.first);
  if (!clamp) return HasNone(op, "no sum of products");
  halves.first.clear_rounding();
  halves.first.clear_converter();
  const Tensor& x = graph.tensors[op.inputs[0]];
  const Tensor& weights = graph.tensors[op.inputs[1]];
  const Tensor& y = graph.tensors[op.outputs[0]];
  if (!x.quantization || !weights.quantization || !y.quantization ||
      y.type == v1::INT32) {
    return HasNone(op, "nothing is requantized");
  }
  halves.between = AccumulatorOf(x, weights, y);
  const absl::Status accepted = ops::CheckOp(
      halves.first, ViewsOf(graph, op.inputs), {ViewOf(halves.between)});
  if (!accepted.ok()) {
    const std::optional<ErrorDetail> detail = GetErrorDetail(accepted);
    return HasNone(op, detail ? detail->what : std::string(accepted.message()));
  }
  EK_ASSIGN_OR_RETURN(
      const ops::QuantizedDotParameters fused,
      ops::DotParameters(*clamp, op.attributes.rounding(), QuantizationOf(x),
                         QuantizationOf(weights), QuantizationOf(y), y.type,
                         y.shape.back()));
  v1::Requantize& requantize = *halves.second.mutable_requantize();
  const bool converts = op.attributes.has_converter();
  if (converts) {
    *halves.second.mutable_converter() = op.attributes.converter();
  }
  const size_t factors =
      converts ? 0 : halves.between.quantization->scale.size();
  for (size_t c = 0; c < factors; ++c) {
    requantize.add_multiplier(fused.multiplier[c].multiplier);
    requantize.add_shift(fused.multiplier[c].shift);
  }
  if (HasBounds(*clamp)) *requantize.mutable_clamp() = *clamp;
  halves.second.set_rounding(op.attributes.rounding());
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
  const absl::StatusOr<OpHalves> halves = HalvesOf(graph, op);
  if (!halves.ok()) return std::nullopt;
  const auto same = [](const v1::OpAttributes& a, const v1::OpAttributes& b) {
    return a.SerializeAsString() == b.SerializeAsString();
  };
  const Tensor& accumulator = graph.tensors[sums.outputs[0]];
  const bool made_so = same(halves->first, sums.attributes) &&
                       same(halves->second, requantize.attributes) &&
                       accumulator.type == halves->between.type &&
                       accumulator.shape == halves->between.shape &&
                       accumulator.quantization == halves->between.quantization;
  if (!made_so) return std::nullopt;
  return op;
}

}  // namespace

absl::Status CheckSplitsRequantization(const Graph& graph, const Op& op) {
  return HalvesOf(graph, op).status();
}

absl::Status SplitRequantization(Graph& graph, absl::Span<const int32_t> ops) {
  std::vector<std::optional<OpHalves>> halves(graph.ops.size());
  for (const int32_t index : ops) {
    EK_ASSIGN_OR_RETURN(halves[index], HalvesOf(graph, graph.ops[index]));
  }
  SplitIntoHalves(graph, std::move(halves),
                  {.between = ".accumulator", .second = ".requantize"});
  return absl::OkStatus();
}

std::vector<bool> JoinRequantization(Graph& graph) {
  return JoinHalves(
      graph, [&](const Op& sums, const Op& requantize) -> std::optional<Op> {
        if (!requantize.attributes.has_requantize()) return std::nullopt;
        return Joined(graph, sums, requantize);
      });
}

}  // namespace edgekiln::compiler
