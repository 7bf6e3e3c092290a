#include <algorithm>
#include <cstdlib>
#include <limits>
#include <memory>
#include <new>

#include "base/checked_math.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "compiler/ir/graph.h"
#include "compiler/ir/graph_outline.h"

namespace edgekiln::compiler {
namespace {

Tensor TensorFromProto(const v1::Tensor& proto) {
  Tensor tensor;
  tensor.name = proto.type().name();
  tensor.type = proto.type().element_type();
  tensor.shape.assign(proto.type().shape().begin(), proto.type().shape().end());
  if (proto.type().has_quantization()) {
    const v1::Quantization& q = proto.type().quantization();
    tensor.quantization.emplace();
    tensor.quantization->scale.assign(q.scale().begin(), q.scale().end());
    tensor.quantization->zero_point.assign(q.zero_point().begin(),
                                           q.zero_point().end());
    tensor.quantization->axis = q.axis();
  }
  if (proto.has_data()) {
    tensor.data = ConstantData(proto.data());
  }
  return tensor;
}

v1::ConvertedPort PortToProto(const ConvertedPort& port) {
  v1::ConvertedPort proto;
  proto.set_port(port.port);
  proto.set_element_type(port.type);
  proto.set_rounding(port.rounding);
  return proto;
}

ConvertedPort PortFromProto(const v1::ConvertedPort& proto) {
  return {proto.port(), proto.element_type(), proto.rounding()};
}

enum class Values { kKeep, kLeaveOut };

// `values`: of constants.
v1::Graph ToProto(const Graph& graph, Values values) {
  v1::Graph proto;
  proto.set_name(graph.name);
  for (const Tensor& tensor : graph.tensors) {
    v1::Tensor& out = *proto.add_tensors();
    *out.mutable_type() = TypeOf(tensor);
    if (!tensor.is_constant()) continue;
    out.set_data(tensor.data->data(),
                 values == Values::kKeep ? tensor.data->size() : 0);
  }
  for (const Op& op : graph.ops) {
    v1::Op& out = *proto.add_ops();
    out.set_id(op.id);
    out.set_name(op.name);
    *out.mutable_attributes() = op.attributes;
    out.mutable_inputs()->Add(op.inputs.begin(), op.inputs.end());
    out.mutable_outputs()->Add(op.outputs.begin(), op.outputs.end());
  }
  proto.mutable_inputs()->Add(graph.inputs.begin(), graph.inputs.end());
  proto.mutable_outputs()->Add(graph.outputs.begin(), graph.outputs.end());
  for (const State& state : graph.states) {
    v1::State& out = *proto.add_states();
    out.set_input(state.input);
    out.set_output(state.output);
  }
  for (const ConvertedPort& port : graph.converted_inputs) {
    *proto.add_converted_inputs() = PortToProto(port);
  }
  for (const ConvertedPort& port : graph.converted_outputs) {
    *proto.add_converted_outputs() = PortToProto(port);
  }
  return proto;
}

// Not verified.
Graph ReadGraph(const v1::Graph& proto) {
  Graph graph;
  graph.name = proto.name();
  graph.tensors.reserve(proto.tensors_size());
  for (const v1::Tensor& tensor : proto.tensors()) {
    graph.tensors.push_back(TensorFromProto(tensor));
  }
  graph.ops.reserve(proto.ops_size());
  for (const v1::Op& op : proto.ops()) {
    graph.ops.push_back({op.id(),
                         op.name(),
                         op.attributes(),
                         {op.inputs().begin(), op.inputs().end()},
                         {op.outputs().begin(), op.outputs().end()}});
  }
  graph.inputs.assign(proto.inputs().begin(), proto.inputs().end());
  graph.outputs.assign(proto.outputs().begin(), proto.outputs().end());
  for (const v1::State& state : proto.states()) {
    graph.states.push_back({state.input(), state.output()});
  }
  for (const v1::ConvertedPort& port : proto.converted_inputs()) {
    graph.converted_inputs.push_back(PortFromProto(port));
  }
  for (const v1::ConvertedPort& port : proto.converted_outputs()) {
    graph.converted_outputs.push_back(PortFromProto(port));
  }
  return graph;
}

}  // namespace

v1::TensorType TypeOf(const Tensor& tensor) {
  v1::TensorType type;
  type.set_name(tensor.name);
  type.set_element_type(tensor.type);
  type.mutable_shape()->Add(tensor.shape.begin(), tensor.shape.end());
  if (tensor.quantization.has_value()) {
    v1::Quantization& q = *type.mutable_quantization();
    q.mutable_scale()->Add(tensor.quantization->scale.begin(),
                           tensor.quantization->scale.end());
    q.mutable_zero_point()->Add(tensor.quantization->zero_point.begin(),
                                tensor.quantization->zero_point.end());
    q.set_axis(tensor.quantization->axis);
  }
  return type;
}

v1::Graph GraphToProto(const Graph& graph) {
  return ToProto(graph, Values::kKeep);
}

absl::StatusOr<Graph> GraphFromProto(const v1::Graph& proto) {
  Graph graph = ReadGraph(proto);
  EK_RETURN_IF_ERROR(VerifyGraph(graph), "stored graph");
  return graph;
}

v1::Graph OutlineOf(const Graph& graph) {
  return ToProto(graph, Values::kLeaveOut);
}

absl::StatusOr<Graph> GraphFromOutline(const v1::Graph& outline) {
  Graph graph = ReadGraph(outline);
  // VerifyGraph has not checked the products yet.
  constexpr int64_t kMaxBytes = std::numeric_limits<int32_t>::max();
  const auto bytes_of = [](const Tensor& tensor) {
    const auto elements = CheckedProduct(tensor.shape);
    const auto bytes =
        elements ? CheckedMul(*elements, ElementBytes(tensor.type)) : elements;
    return bytes && *bytes >= 0 && *bytes <= kMaxBytes ? *bytes : 0;
  };
  int64_t most = 1;
  for (const Tensor& tensor : graph.tensors) {
    if (tensor.is_constant()) most = std::max(most, bytes_of(tensor));
  }
  // Large ones are mapped, not filled.
  const std::shared_ptr<char> zeros(
      static_cast<char*>(std::calloc(static_cast<size_t>(most), 1)), std::free);
  if (zeros == nullptr) throw std::bad_alloc();
  for (Tensor& tensor : graph.tensors) {
    if (!tensor.is_constant()) continue;
    const auto bytes = static_cast<size_t>(bytes_of(tensor));
    tensor.data = ConstantData(zeros, absl::string_view(zeros.get(), bytes));
  }
  EK_RETURN_IF_ERROR(VerifyGraph(graph), "stored outline of a graph");
  return graph;
}

}  // namespace edgekiln::compiler
