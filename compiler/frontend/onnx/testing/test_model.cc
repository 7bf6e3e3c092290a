#include "compiler/frontend/onnx/testing/test_model.h"

#include <utility>

namespace edgekiln::compiler::onnx_import {

TestModel::TestModel(int opset) {
  model_.set_ir_version(8);
  model_.add_opset_import()->set_version(opset);
  model_.mutable_graph()->set_name("test");
}

TestModel& TestModel::Input(const std::string& name,
                            std::vector<int64_t> shape) {
  return TypedInput(name, onnx::TensorProto::FLOAT, std::move(shape));
}

TestModel& TestModel::TypedInput(const std::string& name,
                                 onnx::TensorProto::DataType element_type,
                                 std::vector<int64_t> shape) {
  onnx::ValueInfoProto* input = model_.mutable_graph()->add_input();
  input->set_name(name);
  auto* type = input->mutable_type()->mutable_tensor_type();
  type->set_elem_type(element_type);
  type->mutable_shape();
  for (const int64_t extent : shape) {
    auto* dim = type->mutable_shape()->add_dim();
    if (extent < 0) {
      dim->set_dim_param("N");
    } else {
      dim->set_dim_value(extent);
    }
  }
  return *this;
}

TestModel& TestModel::Output(const std::string& name) {
  model_.mutable_graph()->add_output()->set_name(name);
  return *this;
}

TestModel& TestModel::Floats(const std::string& name,
                             std::vector<int64_t> shape,
                             std::vector<float> values) {
  onnx::TensorProto* tensor = model_.mutable_graph()->add_initializer();
  tensor->set_name(name);
  tensor->set_data_type(onnx::TensorProto::FLOAT);
  for (const int64_t extent : shape) tensor->add_dims(extent);
  for (const float value : values) tensor->add_float_data(value);
  return *this;
}

TestModel& TestModel::Integers(const std::string& name,
                               std::vector<int64_t> values) {
  onnx::TensorProto* tensor = model_.mutable_graph()->add_initializer();
  tensor->set_name(name);
  tensor->set_data_type(onnx::TensorProto::INT64);
  tensor->add_dims(static_cast<int64_t>(values.size()));
  for (const int64_t value : values) tensor->add_int64_data(value);
  return *this;
}

TestModel& TestModel::Bytes(const std::string& name,
                            onnx::TensorProto::DataType type,
                            std::vector<int64_t> shape,
                            std::vector<int> values) {
  onnx::TensorProto* tensor = model_.mutable_graph()->add_initializer();
  tensor->set_name(name);
  tensor->set_data_type(type);
  for (const int64_t extent : shape) tensor->add_dims(extent);
  for (const int value : values) {
    tensor->mutable_raw_data()->push_back(static_cast<char>(value));
  }
  return *this;
}

TestModel& TestModel::Node(const std::string& op_type,
                           std::vector<std::string> inputs,
                           std::vector<std::string> outputs) {
  onnx::NodeProto* node = model_.mutable_graph()->add_node();
  node->set_op_type(op_type);
  for (const std::string& input : inputs) node->add_input(input);
  for (const std::string& output : outputs) node->add_output(output);
  return *this;
}

onnx::AttributeProto* TestModel::Attribute(
    const std::string& name, onnx::AttributeProto::AttributeType type) {
  onnx::GraphProto* graph = model_.mutable_graph();
  onnx::AttributeProto* attribute =
      graph->mutable_node(graph->node_size() - 1)->add_attribute();
  attribute->set_name(name);
  attribute->set_type(type);
  return attribute;
}

TestModel& TestModel::Int(const std::string& name, int64_t value) {
  Attribute(name, onnx::AttributeProto::INT)->set_i(value);
  return *this;
}

TestModel& TestModel::Float(const std::string& name, float value) {
  Attribute(name, onnx::AttributeProto::FLOAT)->set_f(value);
  return *this;
}

TestModel& TestModel::FloatList(const std::string& name,
                                std::vector<float> values) {
  auto* attribute = Attribute(name, onnx::AttributeProto::FLOATS);
  for (const float value : values) attribute->add_floats(value);
  return *this;
}

TestModel& TestModel::Ints(const std::string& name,
                           std::vector<int64_t> values) {
  auto* attribute = Attribute(name, onnx::AttributeProto::INTS);
  for (const int64_t value : values) attribute->add_ints(value);
  return *this;
}

TestModel& TestModel::String(const std::string& name,
                             const std::string& value) {
  Attribute(name, onnx::AttributeProto::STRING)->set_s(value);
  return *this;
}

TestModel& TestModel::Strings(const std::string& name,
                              std::vector<std::string> values) {
  auto* attribute = Attribute(name, onnx::AttributeProto::STRINGS);
  for (std::string& value : values) {
    attribute->add_strings(std::move(value));
  }
  return *this;
}

TestModel& TestModel::Graph(const std::string& name, TestModel& body) {
  *Attribute(name, onnx::AttributeProto::GRAPH)->mutable_g() =
      body.model_.graph();
  return *this;
}

TestModel& TestModel::Function(const std::string& name, TestModel& body) {
  onnx::FunctionProto* function = model_.add_functions();
  function->set_name(name);
  function->set_domain("local");
  const onnx::GraphProto& graph = body.model_.graph();
  for (const auto& input : graph.input()) function->add_input(input.name());
  for (const auto& output : graph.output()) function->add_output(output.name());
  *function->mutable_node() = graph.node();
  *function->add_opset_import() = body.model_.opset_import(0);
  return *this;
}

TestModel& TestModel::Domain(const std::string& domain) {
  onnx::GraphProto* graph = model_.mutable_graph();
  graph->mutable_node(graph->node_size() - 1)->set_domain(domain);
  return *this;
}

TestModel& TestModel::Name(const std::string& name) {
  onnx::GraphProto* graph = model_.mutable_graph();
  graph->mutable_node(graph->node_size() - 1)->set_name(name);
  return *this;
}

}  // namespace edgekiln::compiler::onnx_import
