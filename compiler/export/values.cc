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
      dequantize_(graph.tensors.size(), -1) {
  for (const TensorId id : graph.outputs) is_output_[id] = true;
  // Backwards, so that transposes hand on what reads their result.
  for (size_t i = graph.ops.size(); i-- > 0;) {
    const Op& op = graph.ops[i];
    if (op.attributes.has_dequantize()) {
      dequantize_[op.inputs[0]] = static_cast<int32_t>(i);
    } else if (op.attributes.has_transpose() && dequantize_[op.inputs[0]] < 0) {
      dequantize_[op.inputs[0]] = dequantize_[op.outputs[0]];
    }
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

std::string Values::Dequantized(const std::string& integers, const Tensor& like,
                                absl::string_view node,
                                const std::string& name) {
  const Quantization& quantization = *like.quantization;
  auto& [scale, zero] = parameters_[like.name];
  if (scale.empty()) {
    scale = model_.AddScale(absl::StrCat(like.name, ".scale"), quantization);
    // QuantizeLinear knows no other way to name a type; of int32, ONNX wants
    // no zero point.
    if (like.type != v1::INT32) {
      zero = model_.AddZeroPoint(absl::StrCat(like.name, ".zero_point"),
                                 like.type, quantization);
    }
  }
  std::vector<std::string> inputs = {integers, scale};
  if (!zero.empty()) inputs.push_back(zero);
  onnx::NodeProto& made =
      model_.AddNode(node, "DequantizeLinear", inputs, {name});
  if (quantization.per_channel()) SetInt(made, "axis", quantization.axis);
  return name;
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
  std::string node = absl::StrCat(integers.name, ".dequantize");
  std::string name;
  if (dequantize_[id] >= 0) {
    const Op& op = graph_.ops[dequantize_[id]];
    node = op.id;
    if (op.inputs[0] == id) name = NameFor(op.outputs[0], order);
  }
  if (name.empty()) {
    name = model_.FreshValue(absl::StrCat(integers.name, ".real"));
  }
  SetReal(id, Dequantized(value, integers, node, name), order);
  held_[id].integers = Value{std::move(value), std::move(order)};
}

void Values::Quantize(TensorId id, absl::string_view node,
                      const std::string& value, Order order) {
  const Tensor& integers = tensor(id);
  const Quantization& quantization = *integers.quantization;
  const std::string name = NameFor(id, order);
  auto& [scale, zero] = parameters_[integers.name];
  scale = model_.AddScale(absl::StrCat(integers.name, ".scale"), quantization);
  zero = model_.AddZeroPoint(absl::StrCat(integers.name, ".zero_point"),
                             integers.type, quantization);
  model_.AddNode(node, "QuantizeLinear", {value, scale, zero}, {name});
  SetIntegers(id, name, std::move(order));
}

void Values::SetTransposed(TensorId from, TensorId to,
                           const Permutation& permutation, std::string node) {
  std::vector<Value> values = held_[from].real;
  if (values.empty()) values = {{Real(from), AsStated(RankOf(from))}};
  if (node.empty()) node = held_[from].transpose_node;
  held_[to].transpose_node = std::move(node);
  if (held_[from].integers.has_value() &&
      tensor(to).quantization.has_value()) {
    held_[to].integers = Value{held_[from].integers->name, Order()};
    for (const int32_t dimension : permutation) {
      held_[to].integers->order.push_back(
          held_[from].integers->order[dimension]);
    }
  }
  for (Value& value : values) {
    Order order;
    for (const int32_t dimension : permutation) {
      order.push_back(value.order[dimension]);
    }
    SetReal(to, std::move(value.name), std::move(order));
  }
}

Order Values::OrderOf(TensorId id) const {
  if (held_[id].real.empty()) return AsStated(RankOf(id));
  return held_[id].real.front().order;
}

std::string Values::RealConstant(const Tensor& constant) {
  model_.AddInitializer(constant.name, constant);
  if (!constant.quantization.has_value()) return constant.name;
  return Dequantized(constant.name, constant,
                     absl::StrCat(constant.name, ".dequantize"),
                     model_.FreshValue(absl::StrCat(constant.name, ".real")));
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
  std::string node = held_[id].transpose_node;
  if (node.empty()) node = absl::StrCat(tensor(id).name, ".transpose");
  // The tensor's own name is for its integers.
  const std::string name =
      tensor(id).quantization.has_value()
          ? model_.FreshValue(absl::StrCat(tensor(id).name, ".real"))
          : NameFor(id, order);
  onnx::NodeProto& transpose =
      model_.AddNode(node, "Transpose", {from.name}, {name});
  const Permutation permutation = Between(from.order, order);
  SetInts(transpose, "perm",
          std::vector<int64_t>(permutation.begin(), permutation.end()));
  SetReal(id, name, order);
  return name;
}

std::string Values::Output(TensorId id) {
  const std::optional<Value>& integers = held_[id].integers;
  if (!integers.has_value()) return Real(id);
  const Order order = AsStated(RankOf(id));
  if (integers->order == order) return integers->name;
  onnx::NodeProto& transpose = model_.AddNode(
      absl::StrCat(tensor(id).name, ".transpose"), "Transpose",
      {integers->name}, {NameFor(id, order)});
  const Permutation permutation = Between(integers->order, order);
  SetInts(transpose, "perm",
          std::vector<int64_t>(permutation.begin(), permutation.end()));
  return transpose.output(0);
}

std::string Values::InRowMajorOrder(TensorId id) {
  for (const Value& value : held_[id].real) {
    // The value's dimensions, seen from the tensor.
    if (MovesOnlyOnes(compiler::Permuted(tensor(id).shape, Inverse(value.order)),
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
