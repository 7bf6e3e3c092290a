#include "tests/e2e/float16_twin.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <set>
#include <vector>

#include "gtest/gtest.h"
#include "onnx/onnx_pb.h"
#include "ops/float16.h"

namespace edgekiln::tests {
namespace {

using onnx::TensorProto;

// Largest finite float16.
constexpr float kMost = 65504;

std::vector<float> ValuesOf(const TensorProto& tensor) {
  if (!tensor.has_raw_data()) {
    return {tensor.float_data().begin(), tensor.float_data().end()};
  }
  std::vector<float> values(tensor.raw_data().size() / sizeof(float));
  std::memcpy(values.data(), tensor.raw_data().data(),
              values.size() * sizeof(float));
  return values;
}

void Halve(TensorProto& tensor) {
  std::string raw;
  for (const float value : ValuesOf(tensor)) {
    const uint16_t half = ops::HalfFromFloat(std::clamp(value, -kMost, kMost));
    raw.append(reinterpret_cast<const char*>(&half), sizeof(half));
  }
  tensor.clear_float_data();
  tensor.set_raw_data(raw);
  tensor.set_data_type(TensorProto::FLOAT16);
}

// Tensors that the standard wants in float32: the scales of a Resize.
std::set<std::string> AlwaysFloat32(const onnx::GraphProto& graph) {
  std::set<std::string> names;
  for (const onnx::NodeProto& node : graph.node()) {
    if (node.op_type() != "Resize" && node.op_type() != "Upsample") continue;
    for (int i = 1; i < node.input_size(); ++i) names.insert(node.input(i));
  }
  return names;
}

void HalveType(onnx::ValueInfoProto& value) {
  onnx::TypeProto::Tensor& type = *value.mutable_type()->mutable_tensor_type();
  if (type.elem_type() == TensorProto::FLOAT) {
    type.set_elem_type(TensorProto::FLOAT16);
  }
}

void HalveAttributes(onnx::NodeProto& node) {
  for (onnx::AttributeProto& attribute : *node.mutable_attribute()) {
    if (node.op_type() == "Cast" && attribute.i() == TensorProto::FLOAT) {
      attribute.set_i(TensorProto::FLOAT16);
    }
    if (attribute.type() == onnx::AttributeProto::TENSOR &&
        attribute.t().data_type() == TensorProto::FLOAT) {
      Halve(*attribute.mutable_t());
    }
  }
}

// A node in front of all others that gives the initializer its name back.
void CastBack(TensorProto& tensor, std::vector<onnx::NodeProto>& casts) {
  onnx::NodeProto& cast = casts.emplace_back();
  cast.set_op_type("Cast");
  cast.add_output(tensor.name());
  tensor.set_name(tensor.name() + "_half");
  cast.add_input(tensor.name());
  onnx::AttributeProto& to = *cast.add_attribute();
  to.set_name("to");
  to.set_type(onnx::AttributeProto::INT);
  to.set_i(TensorProto::FLOAT);
}

}  // namespace

std::string Float16Twin(const std::string& bytes, HalfForm form) {
  onnx::ModelProto model;
  if (!model.ParseFromString(bytes)) {
    ADD_FAILURE() << "no ONNX model";
    return "";
  }
  onnx::GraphProto& graph = *model.mutable_graph();
  const std::set<std::string> keep = AlwaysFloat32(graph);
  std::set<std::string> weights;
  std::vector<onnx::NodeProto> nodes;
  for (TensorProto& tensor : *graph.mutable_initializer()) {
    if (tensor.data_type() != TensorProto::FLOAT ||
        keep.contains(tensor.name())) {
      continue;
    }
    weights.insert(tensor.name());
    Halve(tensor);
    if (form == HalfForm::kWeights) CastBack(tensor, nodes);
  }
  EXPECT_FALSE(weights.empty()) << "no float32 weights";
  // Old models list initializers as inputs, too.
  auto& inputs = *graph.mutable_input();
  inputs.erase(std::remove_if(inputs.begin(), inputs.end(),
                              [&](const onnx::ValueInfoProto& input) {
                                return weights.contains(input.name());
                              }),
               inputs.end());
  if (form == HalfForm::kWeights) {
    nodes.insert(nodes.end(), graph.node().begin(), graph.node().end());
    *graph.mutable_node() = {nodes.begin(), nodes.end()};
    return model.SerializeAsString();
  }
  for (onnx::ValueInfoProto& input : inputs) HalveType(input);
  for (onnx::ValueInfoProto& output : *graph.mutable_output()) {
    HalveType(output);
  }
  for (onnx::ValueInfoProto& value : *graph.mutable_value_info()) {
    HalveType(value);
  }
  for (onnx::NodeProto& node : *graph.mutable_node()) HalveAttributes(node);
  return model.SerializeAsString();
}

}  // namespace edgekiln::tests
