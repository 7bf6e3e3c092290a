#include "compiler/passes/border_conversion.h"

#include <utility>
#include <vector>

#include "compiler/ir/integer_shift.h"
#include "compiler/ir/tensor_views.h"
#include "ops/shape_inference.h"

namespace edgekiln::compiler {
namespace {

bool HasOneScale(const Tensor& tensor) {
  return tensor.quantization.has_value() && !tensor.quantization->per_channel();
}

const Tensor& InputOf(const Graph& graph, const Op& op) {
  return graph.tensors[op.inputs[0]];
}

const Tensor& OutputOf(const Graph& graph, const Op& op) {
  return graph.tensors[op.outputs[0]];
}

bool IsFloat(v1::ElementType type) {
  return type == v1::FLOAT32 || type == v1::FLOAT16 || type == v1::FLOAT64;
}

// FLOAT16 is converted through FLOAT32, which is exact.
bool IsFloat32OrLess(v1::ElementType type) {
  return type == v1::FLOAT32 || type == v1::FLOAT16;
}

// uint8 to int8 and the like: the same real values, and no rounding.
bool Shifts(const Tensor& from, const Tensor& to) {
  if (!HasOneScale(from) || !HasOneScale(to) ||
      ElementBytes(from.type) != ElementBytes(to.type)) {
    return false;
  }
  const bool others = ShiftTo(from.type) != 0 && from.type != to.type;
  return others && from.quantization->scale == to.quantization->scale &&
         from.quantization->zero_point[0] + ShiftTo(to.type) ==
             to.quantization->zero_point[0];
}

}  // namespace

IntegerForm FormOf(const Tensor& tensor) {
  return {tensor.type, *tensor.quantization, v1::HALF_UP};
}

void SetForm(const IntegerForm& form, Tensor& tensor) {
  tensor.type = form.type;
  tensor.quantization = form.quantization;
}

std::optional<IntegerForm> FormThatItGives(const Graph& graph, const Op& op) {
  if (!op.attributes.has_quantize()) return std::nullopt;
  const Tensor& from = InputOf(graph, op);
  const Tensor& to = OutputOf(graph, op);
  if (IsFloat32OrLess(from.type) && HasOneScale(to)) {
    return IntegerForm{to.type, *to.quantization, op.attributes.rounding()};
  }
  if (Shifts(from, to)) return FormOf(to);
  return std::nullopt;
}

bool TakesFormOff(const Graph& graph, const Op& op) {
  const v1::OpAttributes& attributes = op.attributes;
  if (attributes.has_quantize()) {
    return Shifts(InputOf(graph, op), OutputOf(graph, op));
  }
  return attributes.has_dequantize() && HasOneScale(InputOf(graph, op)) &&
         IsFloat32OrLess(OutputOf(graph, op).type);
}

bool WidensToFloat32(const Graph& graph, const Op& op) {
  return op.attributes.has_cast() && IsFloat(InputOf(graph, op).type) &&
         OutputOf(graph, op).type == v1::FLOAT32;
}

bool NarrowsFloat32(const Graph& graph, const Op& op) {
  return op.attributes.has_cast() && InputOf(graph, op).type == v1::FLOAT32 &&
         IsFloat(OutputOf(graph, op).type);
}

bool TakesForm(const Graph& graph, const Op& op, const IntegerForm& form) {
  Tensor input = InputOf(graph, op);
  Tensor output = OutputOf(graph, op);
  SetForm(form, input);
  SetForm(form, output);
  std::vector<ops::TensorView> views = ViewsOf(graph, op.inputs);
  views[0] = ViewOf(input);
  return ops::CheckOp(op.attributes, views, {ViewOf(output)}).ok();
}

Tensor SourcePort(const Tensor& integers, const ConvertedPort& port) {
  Tensor source;
  source.name = integers.name;
  source.type = port.type;
  source.shape = integers.shape;
  if (IsFloat(port.type)) return source;
  source.quantization = integers.quantization;
  source.quantization->zero_point[0] += ShiftTo(port.type);
  return source;
}

std::vector<v1::OpAttributes> InputConversions(const Tensor& integers,
                                               const ConvertedPort& port) {
  std::vector<v1::OpAttributes> ops(1);
  ops[0].mutable_quantize();
  ops[0].set_rounding(port.rounding);
  const Tensor source = SourcePort(integers, port);
  if (!ops::CheckOp(ops[0], {ViewOf(source)}, {ViewOf(integers)}).ok() ||
      port.type == v1::FLOAT64) {
    ops.emplace(ops.begin())->mutable_cast();
  }
  return ops;
}

std::vector<v1::OpAttributes> OutputConversions(const Tensor& integers,
                                                const ConvertedPort& port) {
  std::vector<v1::OpAttributes> ops(1);
  if (IsFloat(port.type)) {
    ops[0].mutable_dequantize();
  } else {
    ops[0].mutable_quantize();
  }
  const Tensor source = SourcePort(integers, port);
  if (!ops::CheckOp(ops[0], {ViewOf(integers)}, {ViewOf(source)}).ok() ||
      port.type == v1::FLOAT64) {
    ops.emplace_back().mutable_cast();
  }
  return ops;
}

}  // namespace edgekiln::compiler
