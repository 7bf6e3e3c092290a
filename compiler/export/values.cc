#include "compiler/export/values.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "compiler/passes/transposed_tensor.h"

namespace edgekiln::compiler::onnx_export {
namespace {

// The permutation that makes a value of order `to` of one of order `from`.
Permutation Between(const Order& from, const Order& to) {
  Permutation permutation(from.size());
  for (size_t i = 0; i < from.size(); ++i) permutation[to[i]] = from[i];
  return permutation;
}

// The order in which a value of `order` holds the tensor's transpose.
Order Composed(const Order& order, const Permutation& permutation) {
  Order composed;
  for (const int32_t dimension : permutation) {
    composed.push_back(order[dimension]);
  }
  return composed;
}

// Leading extents of 1 up to `rank`.
Tensor WithRank(Tensor tensor, size_t rank) {
  const size_t more = rank - tensor.shape.size();
  tensor.shape = Ranked(std::move(tensor.shape), rank);
  if (tensor.quantization.has_value() && tensor.quantization->per_channel()) {
    tensor.quantization->axis += static_cast<int32_t>(more);
  }
  return tensor;
}

}  // namespace

Order AsStated(size_t rank) {
  Order order(rank);
  std::iota(order.begin(), order.end(), 0);
  return order;
}

Order ChannelsFirst(size_t rank) {
  Order order = AsStated(rank);
  for (size_t i = 1; i + 1 < rank; ++i) ++order[i];
  order.back() = 1;
  return order;
}

bool IsAsStated(const Order& order) {
  return std::is_sorted(order.begin(), order.end());
}

Values::Values(const Graph& graph, OnnxModel& model)
    : graph_(graph),
      model_(model),
      held_(graph.tensors.size()),
      named_(graph.tensors.size(), false),
      is_output_(graph.tensors.size(), false),
      dequantized_(graph.tensors.size(), kNoTensor) {
  for (const TensorId id : graph.outputs) is_output_[id] = true;
  for (const Op& op : graph.ops) {
    // DequantizeLinear of op set 17 makes float32 only; others are cast.
    if (!op.attributes.has_dequantize() ||
        graph.tensors[op.outputs[0]].type != v1::FLOAT32) {
      continue;
    }
    dequantized_[op.inputs[0]] = op.outputs[0];
  }
}

std::string Values::NameFor(TensorId id, const Order& order) {
  // What has another order is no output of the model.
  if (!named_[id] && (IsAsStated(order) || !is_output_[id])) {
    named_[id] = true;
    return tensor(id).name;
  }
  return model_.FreshValue(
      absl::StrCat(tensor(id).name, IsAsStated(order) ? ".value" : ".turned"));
}

void Values::SetReal(TensorId id, std::string value, Order order) {
  held_[id].real.push_back({std::move(value), std::move(order)});
}

const std::pair<std::string, std::string>& Values::ParametersOf(
    const Tensor& like) {
  auto& [scale, zero] = parameters_[like.name];
  if (scale.empty()) {
    scale =
        model_.AddScale(absl::StrCat(like.name, ".scale"), *like.quantization);
    // Of int32, ONNX wants no zero point.
    if (like.type != v1::INT32) {
      zero = model_.AddZeroPoint(absl::StrCat(like.name, ".zero_point"),
                                 like.type, *like.quantization);
    }
  }
  return parameters_[like.name];
}

onnx::NodeProto& Values::Dequantize(const std::string& integers,
                                    const Tensor& like,
                                    const std::string& name) {
  const Quantization& quantization = *like.quantization;
  const auto& [scale, zero] = ParametersOf(like);
  std::vector<std::string> inputs = {integers, scale};
  if (!zero.empty()) inputs.push_back(zero);
  onnx::NodeProto& node = model_.AddHelper(like.name, "dequantize",
                                           "DequantizeLinear", inputs, name);
  if (quantization.per_channel()) SetInt(node, "axis", quantization.axis);
  return node;
}

void Values::SetInput(TensorId id) {
  const Order order = AsStated(RankOf(id));
  const std::string name = NameFor(id, order);
  if (tensor(id).quantization.has_value()) {
    SetIntegers(id, name, order);
  } else {
    SetReal(id, name, order);
  }
}

void Values::SetIntegers(TensorId id, std::string value, Order order) {
  const Tensor& integers = tensor(id);
  const std::string name =
      dequantized_[id] != kNoTensor
          ? NameFor(dequantized_[id], order)
          : model_.FreshValue(absl::StrCat(integers.name, ".real"));
  held_[id].dequantize = &Dequantize(value, integers, name);
  SetReal(id, name, order);
  held_[id].integers = Value{std::move(value), std::move(order)};
}

void Values::SetDequantized(const Op& op) {
  const TensorId from = op.inputs[0];
  const TensorId to = op.outputs[0];
  if (tensor(to).type == v1::FLOAT32) {
    Share(from, to, AsStated(RankOf(from)), held_[from].transpose_node);
  } else {
    const Order order = OrderOf(from);
    const std::string name = NameFor(to, order);
    onnx::NodeProto& cast =
        model_.AddHelper(op.id, "cast", "Cast", {Real(from, order)}, name);
    SetInt(cast, "to", OnnxTypeOf(tensor(to).type));
    SetReal(to, name, order);
  }
  onnx::NodeProto* node = held_[from].dequantize;
  // Two such ops of one tensor would be one.
  if (node != nullptr && is_op_.insert(node).second) node->set_name(op.id);
}

bool Values::SetTransposed(const Op& op) {
  const TensorId from = op.inputs[0];
  const auto& permutation = op.attributes.transpose().permutation();
  const size_t rank = RankOf(from);
  const Order order =
      Composed(OrderOf(from), {permutation.begin(), permutation.end()});
  if (!IsAsStated(order) && (rank < 4 || order != ChannelsFirst(rank))) {
    return false;
  }
  Share(from, op.outputs[0], {permutation.begin(), permutation.end()}, op.id);
  return true;
}

void Values::Quantize(TensorId id, const Op& op, const std::string& value,
                      Order order) {
  const std::string name = NameFor(id, order);
  const auto& [scale, zero] = ParametersOf(tensor(id));
  const std::string inputs[] = {value, scale, zero};
  constexpr absl::string_view kType = "QuantizeLinear";
  if (op.attributes.has_quantize()) {
    model_.AddNode(op.id, kType, inputs, {name});
  } else {
    model_.AddHelper(op.id, "quantize", kType, inputs, name);
  }
  SetIntegers(id, name, std::move(order));
}

std::string Values::Rounded(TensorId id, const Op& op,
                            const std::string& value) {
  const Tensor& like = tensor(id);
  const auto& [scale, zero] = ParametersOf(like);
  const std::string integers =
      model_.FreshValue(absl::StrCat(like.name, ".first"));
  const std::string inputs[] = {value, scale, zero};
  model_.AddHelper(op.id, "quantize", "QuantizeLinear", inputs, integers);
  const std::string real =
      model_.FreshValue(absl::StrCat(like.name, ".first.real"));
  Dequantize(integers, like, real);
  return real;
}

void Values::Transpose(const Op& op) {
  const TensorId to = op.outputs[0];
  const auto& permutation = op.attributes.transpose().permutation();
  const std::string from = Real(op.inputs[0]);
  const Order order = AsStated(RankOf(to));
  const std::string name =
      tensor(to).quantization.has_value()
          ? model_.FreshValue(absl::StrCat(tensor(to).name, ".real"))
          : NameFor(to, order);
  SetInts(model_.AddNode(op.id, "Transpose", {from}, {name}), "perm",
          std::vector<int64_t>(permutation.begin(), permutation.end()));
  SetReal(to, name, order);
  held_[to].dequantize = held_[op.inputs[0]].dequantize;
}

void Values::Share(TensorId from, TensorId to, const Permutation& permutation,
                   std::string transpose_node) {
  std::vector<Value> values = held_[from].real;
  if (values.empty()) values = {{Real(from), AsStated(RankOf(from))}};
  for (Value& value : values) {
    SetReal(to, std::move(value.name), Composed(value.order, permutation));
  }
  Held& held = held_[to];
  held.dequantize = held_[from].dequantize;
  held.transpose_node = std::move(transpose_node);
  if (tensor(to).quantization.has_value()) {
    const std::optional<Value>& integers = held_[from].integers;
    if (integers.has_value()) {
      held.integers =
          Value{integers->name, Composed(integers->order, permutation)};
    }
  }
}

Order Values::OrderOf(TensorId id) const {
  if (held_[id].real.empty()) return AsStated(RankOf(id));
  return held_[id].real.front().order;
}

std::string Values::RealConstant(const Tensor& constant) {
  model_.AddInitializer(constant.name, constant);
  if (!constant.quantization.has_value()) return constant.name;
  const std::string name =
      model_.FreshValue(absl::StrCat(constant.name, ".real"));
  Dequantize(constant.name, constant, name);
  return name;
}

std::string Values::Bias(TensorId id, float input_scale,
                         const Quantization& weights) {
  Tensor bias = tensor(id);
  Quantization products;
  for (const float scale : weights.scale) {
    products.scale.push_back(
        std::max(static_cast<float>(double{input_scale} * double{scale}),
                 std::numeric_limits<float>::min()));
    products.zero_point.push_back(0);
  }
  bias.quantization = std::move(products);
  // Ops that share a bias need not share its scale.
  if (named_[id]) bias.name = model_.FreshValue(bias.name);
  named_[id] = true;
  return RealConstant(bias);
}

std::string Values::Real(TensorId id, const Order& order) {
  if (tensor(id).is_constant()) {
    if (IsAsStated(order)) return Permuted(id, AsStated(RankOf(id)));
    return Permuted(id, Inverse(order));
  }
  const std::vector<Value>& real = held_[id].real;
  for (const Value& value : real) {
    if (value.order == order) return value.name;
  }
  const Value from = real.front();
  const std::string& node = held_[id].transpose_node;
  // The tensor's own name is for its integers.
  const std::string name =
      tensor(id).quantization.has_value()
          ? model_.FreshValue(absl::StrCat(tensor(id).name, ".real"))
          : NameFor(id, order);
  constexpr absl::string_view kType = "Transpose";
  onnx::NodeProto& transpose =
      node.empty() ? model_.AddHelper(tensor(id).name, "transpose", kType,
                                      {from.name}, name)
                   : model_.AddNode(node, kType, {from.name}, {name});
  const Permutation permutation = Between(from.order, order);
  SetInts(transpose, "perm",
          std::vector<int64_t>(permutation.begin(), permutation.end()));
  SetReal(id, name, order);
  return name;
}

std::string Values::Output(TensorId id) {
  if (!tensor(id).quantization.has_value()) return Real(id);
  const Order order = AsStated(RankOf(id));
  const std::optional<Value>& integers = held_[id].integers;
  if (!integers.has_value()) {  // Of a transpose.
    const auto& [scale, zero] = ParametersOf(tensor(id));
    const std::string inputs[] = {Real(id), scale, zero};
    return model_
        .AddHelper(tensor(id).name, "quantize", "QuantizeLinear", inputs,
                   NameFor(id, order))
        .output(0);
  }
  if (integers->order == order) return integers->name;
  onnx::NodeProto& transpose =
      model_.AddHelper(tensor(id).name, "transpose", "Transpose",
                       {integers->name}, NameFor(id, order));
  const Permutation permutation = Between(integers->order, order);
  SetInts(transpose, "perm",
          std::vector<int64_t>(permutation.begin(), permutation.end()));
  return transpose.output(0);
}

std::string Values::InRowMajorOrder(TensorId id) {
  for (const Value& value : held_[id].real) {
    // The value's dimensions, seen from the tensor.
    if (MovesOnlyOnes(
            compiler::Permuted(tensor(id).shape, Inverse(value.order)),
            value.order)) {
      return value.name;
    }
  }
  return Real(id);
}

std::string Values::Permuted(TensorId id, const Permutation& permutation) {
  if (!tensor(id).is_constant()) return Real(id, Inverse(permutation));
  const auto [found, is_new] =
      constants_.try_emplace({id, permutation}, std::string());
  if (!is_new) return found->second;
  Tensor constant = WithRank(tensor(id), permutation.size());
  if (!IsAsStated(permutation)) {
    constant = TransposedTensor(constant, permutation);
  }
  if (named_[id]) {
    constant.name = model_.FreshValue(absl::StrCat(constant.name, ".turned"));
  }
  named_[id] = true;
  return constants_[{id, permutation}] = RealConstant(constant);
}

}  // namespace edgekiln::compiler::onnx_export
