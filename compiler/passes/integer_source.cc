#include "compiler/passes/integer_source.h"

#include <algorithm>
#include <memory>

#include "absl/strings/str_cat.h"
#include "compiler/ir/tensor_views.h"
#include "compiler/passes/op_traits.h"
#include "compiler/passes/transposed_tensor.h"
#include "ops/shape_inference.h"

namespace edgekiln::compiler {
namespace {

// Dimension of `to` that has the extent of dimension `axis` of `from` and as
// many elements before it; -1 if there is none.
int32_t ReshapedAxis(const std::vector<int64_t>& from, int32_t axis,
                     const std::vector<int64_t>& to) {
  int64_t before = 1;
  for (int32_t i = 0; i < axis; ++i) before *= from[i];
  int64_t elements = 1;
  for (int32_t i = 0; i < static_cast<int32_t>(to.size()); ++i) {
    if (elements == before && to[i] == from[axis]) return i;
    elements *= to[i];
  }
  return -1;
}

// The quantization of what the op moves; empty if its channels do not stay
// together.
std::optional<Quantization> MovedQuantization(const Quantization& quantization,
                                              const Op& op, const Tensor& input,
                                              const Tensor& output) {
  if (!quantization.per_channel()) return quantization;
  Quantization moved = quantization;
  if (op.attributes.has_transpose()) {
    const auto& permutation = op.attributes.transpose().permutation();
    moved.axis = static_cast<int32_t>(
        std::find(permutation.begin(), permutation.end(), quantization.axis) -
        permutation.begin());
    return moved;
  }
  if (!op.attributes.has_reshape()) return std::nullopt;
  moved.axis = ReshapedAxis(input.shape, quantization.axis, output.shape);
  if (moved.axis < 0) return std::nullopt;
  return moved;
}

}  // namespace

Tensor ShiftedToInt8(Tensor tensor) {
  if (tensor.type != v1::UINT8 || !tensor.quantization.has_value()) {
    return tensor;
  }
  tensor.type = v1::INT8;
  for (int32_t& zero : tensor.quantization->zero_point) zero -= 128;
  if (!tensor.is_constant()) return tensor;
  std::string data(*tensor.data);
  for (char& value : data) value = static_cast<char>(value ^ 0x80);
  tensor.data = ConstantData(std::move(data));
  return tensor;
}

void IntegerSources::Visit(int32_t index) {
  const Op& op = graph_.ops[index];
  if (op.attributes.has_dequantize()) {
    const Tensor& integers = graph_.tensors[op.inputs[0]];
    Source source;
    source.integers = op.inputs[0];
    source.quantization = integers.quantization;
    source.type = integers.type;
    sources_[op.outputs[0]] = std::move(source);
    return;
  }
  if (!ChoosesValues(op)) return;
  const auto found = sources_.find(op.inputs[0]);
  if (found == sources_.end()) return;
  std::optional<Source> moved = Moved(found->second, index);
  if (moved.has_value()) sources_[op.outputs[0]] = *std::move(moved);
}

std::optional<IntegerSources::Source> IntegerSources::Moved(
    const Source& source, int32_t index) const {
  const Op& op = graph_.ops[index];
  const Tensor& input = graph_.tensors[op.inputs[0]];
  const Tensor& output = graph_.tensors[op.outputs[0]];
  Source moved;
  moved.op = index;
  moved.type = source.type;
  moved.quantization =
      MovedQuantization(*source.quantization, op, input, output);
  if (!moved.quantization.has_value()) return std::nullopt;
  // A reshape of channels is done on constants only, by ConstantOf().
  if (source.quantization->per_channel()) return moved;
  std::vector<ops::TensorView> inputs = ViewsOf(graph_, op.inputs);
  Tensor from = input;
  from.type = source.type;
  from.quantization = source.quantization;
  inputs[0] = ViewOf(from);
  Tensor to = output;
  to.type = source.type;
  to.quantization = moved.quantization;
  if (!ops::CheckOp(op.attributes, inputs, {ViewOf(to)}).ok()) {
    return std::nullopt;
  }
  return moved;
}

std::optional<Tensor> IntegerSources::TypeOf(TensorId id) const {
  const auto found = sources_.find(id);
  if (found == sources_.end()) return std::nullopt;
  const Source& source = found->second;
  if (source.integers != kNoTensor) return graph_.tensors[source.integers];
  Tensor tensor = graph_.tensors[id];
  tensor.type = source.type;
  tensor.quantization = source.quantization;
  return tensor;
}

TensorId IntegerSources::Materialize(TensorId id, std::vector<Op>& ops) {
  std::vector<TensorId> chain;
  while (sources_.at(id).integers == kNoTensor) {
    chain.push_back(id);
    id = graph_.ops[sources_.at(id).op].inputs[0];
  }
  TensorId integers = sources_.at(id).integers;
  for (; !chain.empty(); chain.pop_back()) {
    Tensor tensor = *TypeOf(chain.back());
    Source& source = sources_.at(chain.back());
    Op copy = graph_.ops[source.op];
    tensor.name = names_.TensorName(absl::StrCat(tensor.name, ".int8"));
    copy.id = names_.OpId(absl::StrCat(copy.id, ".int8"));
    copies_.emplace_back(copy.id, graph_.ops[source.op].id);
    copy.inputs[0] = integers;
    integers = static_cast<TensorId>(graph_.tensors.size());
    copy.outputs = {integers};
    graph_.tensors.push_back(std::move(tensor));
    source.integers = integers;
    ops.push_back(std::move(copy));
  }
  return integers;
}

std::optional<Tensor> IntegerSources::ConstantOf(TensorId id) const {
  std::vector<TensorId> chain;
  auto found = sources_.find(id);
  if (found == sources_.end()) return std::nullopt;
  while (found->second.op >= 0) {
    chain.push_back(id);
    id = graph_.ops[found->second.op].inputs[0];
    found = sources_.find(id);
  }
  Tensor tensor = graph_.tensors[found->second.integers];
  if (!tensor.is_constant()) return std::nullopt;
  for (; !chain.empty(); chain.pop_back()) {
    const Source& source = sources_.at(chain.back());
    const v1::OpAttributes& attributes = graph_.ops[source.op].attributes;
    if (attributes.has_transpose()) {
      const auto& permutation = attributes.transpose().permutation();
      tensor = TransposedTensor(
          tensor, std::vector<int32_t>(permutation.begin(), permutation.end()));
    } else if (attributes.has_reshape()) {
      tensor.shape = graph_.tensors[chain.back()].shape;
    } else {
      return std::nullopt;
    }
    tensor.quantization = source.quantization;
  }
  return ShiftedToInt8(std::move(tensor));
}

}  // namespace edgekiln::compiler
