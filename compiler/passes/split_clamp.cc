#include "compiler/passes/split_clamp.h"

#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/error.h"
#include "compiler/ir/tensor_views.h"
#include "compiler/passes/clamps.h"
#include "compiler/passes/op_halves.h"
#include "ops/quantized_parameters.h"
#include "ops/shape_inference.h"

namespace edgekiln::compiler {
namespace {

constexpr absl::string_view kBetween = ".unclipped";
constexpr absl::string_view kClip = ".clip";

// Whether limits of the op's result come after everything else, as integers.
bool ClampsIntegers(const Graph& graph, const Op& op) {
  if (op.attributes.has_clip() || op.attributes.has_requantize() ||
      op.attributes.has_converter() || op.outputs.size() != 1 ||
      ClampOf(op.attributes) == nullptr) {
    return false;
  }
  const Tensor& y = graph.tensors[op.outputs[0]];
  return y.quantization && !y.quantization->per_channel() &&
         ops::RangeOf(y.type).max > 0;
}

std::optional<OpHalves> HalvesOf(const Graph& graph, const Op& op) {
  if (!ClampsIntegers(graph, op)) return std::nullopt;
  const Tensor& y = graph.tensors[op.outputs[0]];
  const v1::Clamp& clamp = *ClampOf(op.attributes);
  const v1::Rounding rounding = op.attributes.rounding();
  const ops::QuantizedRange all = ops::RangeOf(y.type);
  const ops::QuantizedRange wanted =
      ops::ClampRange(clamp, rounding, QuantizationOf(y), y.type);
  const int32_t zero = y.quantization->zero_point[0];
  const bool plain_min = wanted.min == all.min || wanted.min == zero;
  if (wanted.max == all.max && plain_min) return std::nullopt;
  OpHalves halves{.first = op.attributes, .between = y, .second = {}};
  v1::Clamp& plain = *MutableClamp(halves.first);
  plain.Clear();
  if (wanted.min >= zero) plain.set_min(0);
  *halves.second.mutable_clip()->mutable_clamp() = clamp;
  // No Clip rounds down, and limits are rounded to the nearest either way.
  if (rounding != v1::FLOOR) halves.second.set_rounding(rounding);
  if (!ops::CheckOp(halves.second, {ViewOf(halves.between)}, {ViewOf(y)})
           .ok()) {
    return std::nullopt;
  }
  return halves;
}

bool Same(const v1::OpAttributes& a, const v1::OpAttributes& b) {
  return a.SerializeAsString() == b.SerializeAsString();
}

// The op that was split into these two; nothing if they are not such a pair.
// The name tells the tensor from one of the model's own between such ops.
std::optional<Op> Joined(const Graph& graph, const Op& first,
                         const Op& second) {
  if (!second.attributes.has_clip()) return std::nullopt;
  Op op = first;
  op.outputs = second.outputs;
  v1::Clamp* const clamp = MutableClamp(op.attributes);
  if (clamp == nullptr) return std::nullopt;
  *clamp = second.attributes.clip().clamp();
  const std::optional<OpHalves> halves = HalvesOf(graph, op);
  if (!halves) return std::nullopt;
  const Tensor& between = graph.tensors[first.outputs[0]];
  const std::string name =
      absl::StrCat(graph.tensors[op.outputs[0]].name, kBetween);
  if (!absl::StartsWith(between.name, name) ||
      between.type != halves->between.type ||
      between.shape != halves->between.shape ||
      between.quantization != halves->between.quantization ||
      !Same(halves->first, first.attributes) ||
      !Same(halves->second, second.attributes)) {
    return std::nullopt;
  }
  return op;
}

}  // namespace

std::optional<Op> WithPlainClamp(const Graph& graph, const Op& op) {
  std::optional<OpHalves> halves = HalvesOf(graph, op);
  if (!halves) return std::nullopt;
  Op plain = op;
  plain.attributes = std::move(halves->first);
  return plain;
}

absl::Status SplitClamps(Graph& graph, absl::Span<const int32_t> ops) {
  std::vector<std::optional<OpHalves>> halves(graph.ops.size());
  for (const int32_t index : ops) {
    const Op& op = graph.ops[index];
    halves[index] = HalvesOf(graph, op);
    if (halves[index]) continue;
    return MakeError(
        absl::StatusCode::kInvalidArgument,
        {.fault = Fault::kUser,
         .reason = "NO_CLIP",
         .what = "no limits that could be split off",
         .where = absl::StrCat(op.id, " (", std::string(op.kind()), ")"),
         .need = "a quantized result that ends at limits of its own"});
  }
  SplitIntoHalves(graph, std::move(halves),
                  {.between = kBetween, .second = kClip});
  return absl::OkStatus();
}

bool AreClampHalves(const Graph& graph, const Op& first, const Op& second) {
  return Joined(graph, first, second).has_value();
}

std::vector<bool> JoinClamps(Graph& graph) {
  return JoinHalves(graph, [&](const Op& first, const Op& second) {
    return Joined(graph, first, second);
  });
}

}  // namespace edgekiln::compiler
