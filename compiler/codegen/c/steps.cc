#include "compiler/codegen/c/steps.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ops/rounding.h"

namespace edgekiln::compiler {
namespace {

using Attributes = v1::OpAttributes;

// Of the same shape as `like`, without data or quantization.
TensorId AddBetween(Graph& graph, TensorId like, v1::ElementType type) {
  Tensor tensor;
  tensor.name = absl::StrCat("between#", graph.tensors.size());
  tensor.type = type;
  tensor.shape = graph.tensors[like].shape;
  graph.tensors.push_back(std::move(tensor));
  return static_cast<TensorId>(graph.tensors.size()) - 1;
}

// The op with `convert_in` before inputs that `wants` picks, and `convert_out`
// behind such outputs.
template <typename Wants>
std::vector<CStep> Between(const CStep& step, Graph& graph, const Wants& wants,
                           const Attributes& convert_in,
                           const Attributes& convert_out) {
  std::vector<CStep> steps;
  CStep inner = step;
  for (TensorId& id : inner.inputs) {
    if (id == kNoTensor || !wants(graph.tensors[id])) continue;
    const TensorId between = AddBetween(graph, id, v1::FLOAT32);
    steps.push_back({convert_in, {id}, {between}});
    id = between;
  }
  std::vector<CStep> behind;
  for (TensorId& id : inner.outputs) {
    if (!wants(graph.tensors[id])) continue;
    const TensorId between = AddBetween(graph, id, v1::FLOAT32);
    behind.push_back({convert_out, {between}, {id}});
    id = between;
  }
  steps.push_back(std::move(inner));
  steps.insert(steps.end(), behind.begin(), behind.end());
  return steps;
}

bool HasHalf(const CStep& step, const Graph& graph) {
  const auto is_half = [&graph](TensorId id) {
    return id != kNoTensor && graph.tensors[id].type == v1::FLOAT16;
  };
  return std::any_of(step.inputs.begin(), step.inputs.end(), is_half) ||
         std::any_of(step.outputs.begin(), step.outputs.end(), is_half);
}

// Whether the op only moves values, whatever they are.
bool Moves(const Attributes& op) {
  switch (op.op_case()) {
    case Attributes::kReshape:
    case Attributes::kTranspose:
    case Attributes::kPad:
    case Attributes::kConcat:
    case Attributes::kGather:
    case Attributes::kGatherElements:
    case Attributes::kGatherNd:
    case Attributes::kSlice:
    case Attributes::kBroadcastTo:
    case Attributes::kTile:
    case Attributes::kSelect:
    case Attributes::kReverseSequence:
    case Attributes::kCast:
      return true;
    case Attributes::kScatterElements:
      return op.scatter_elements().reduction() == v1::SCATTER_REPLACE;
    case Attributes::kScatterNd:
      return op.scatter_nd().reduction() == v1::SCATTER_REPLACE;
    default:
      return false;
  }
}

std::vector<CStep> ThroughHalfFloats(const CStep& step, Graph& graph) {
  Attributes cast;
  cast.mutable_cast();
  return Between(
      step, graph,
      [](const Tensor& tensor) { return tensor.type == v1::FLOAT16; }, cast,
      cast);
}

std::vector<CStep> ThroughFloats(CStep step, Graph& graph) {
  step.attributes.clear_rounding();
  Attributes dequantize, quantize;
  dequantize.mutable_dequantize();
  quantize.mutable_quantize();
  quantize.set_rounding(v1::HALF_EVEN);
  return Between(
      step, graph,
      [](const Tensor& tensor) { return tensor.quantization.has_value(); },
      dequantize, quantize);
}

const v1::Clamp& ClampOf(const Attributes& op) {
  switch (op.op_case()) {
    case Attributes::kConv2D:
      return op.conv2d().clamp();
    case Attributes::kDepthwiseConv2D:
      return op.depthwise_conv2d().clamp();
    default:
      return op.fully_connected().clamp();
  }
}

void ClearClamp(Attributes& op) {
  if (op.has_conv2d()) op.mutable_conv2d()->clear_clamp();
  if (op.has_depthwise_conv2d()) op.mutable_depthwise_conv2d()->clear_clamp();
  if (op.has_fully_connected()) op.mutable_fully_connected()->clear_clamp();
}

std::vector<CStep> SumsAndConverter(const CStep& step, Graph& graph) {
  CStep sums = step;
  const TensorId between = AddBetween(graph, step.outputs[0], v1::INT32);
  sums.outputs = {between};
  sums.attributes.clear_converter();
  sums.attributes.clear_rounding();
  ClearClamp(sums.attributes);
  Attributes convert;
  *convert.mutable_requantize()->mutable_clamp() = ClampOf(step.attributes);
  *convert.mutable_converter() = step.attributes.converter();
  convert.set_rounding(step.attributes.rounding());
  return {sums, {convert, {between}, step.outputs}};
}

}  // namespace

std::vector<CStep> StepsOf(const Op& op, Graph& graph) {
  const CStep step{op.attributes, op.inputs, op.outputs};
  if (op.attributes.rounding() == v1::HALF_EVEN &&
      ops::HalfEvenFormOf(op.attributes) == ops::HalfEvenForm::kFloats) {
    return ThroughFloats(step, graph);
  }
  if (op.attributes.has_converter() && !op.attributes.has_requantize()) {
    return SumsAndConverter(step, graph);
  }
  if (HasHalf(step, graph) && !Moves(op.attributes)) {
    return ThroughHalfFloats(step, graph);
  }
  return {step};
}

}  // namespace edgekiln::compiler
