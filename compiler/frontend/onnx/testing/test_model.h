#ifndef EK_COMPILER_FRONTEND_ONNX_TESTING_TEST_MODEL_H_
#define EK_COMPILER_FRONTEND_ONNX_TESTING_TEST_MODEL_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "onnx/onnx_pb.h"

// ONNX models put together in tests.
namespace edgekiln::compiler::onnx_import {

class TestModel {
 public:
  explicit TestModel(int opset = 13);

  // Each returns *this, so that a model is one expression.
  TestModel& Input(const std::string& name, std::vector<int64_t> shape);
  TestModel& TypedInput(const std::string& name,
                        onnx::TensorProto::DataType type,
                        std::vector<int64_t> shape);
  TestModel& Output(const std::string& name);
  TestModel& Floats(const std::string& name, std::vector<int64_t> shape,
                    std::vector<float> values);
  TestModel& Integers(const std::string& name, std::vector<int64_t> values);
  // Values of one byte each: INT8, UINT8 or BOOL.
  TestModel& Bytes(const std::string& name, onnx::TensorProto::DataType type,
                   std::vector<int64_t> shape, std::vector<int> values);
  TestModel& Node(const std::string& op_type, std::vector<std::string> inputs,
                  std::vector<std::string> outputs);
  // Attributes of the last node.
  TestModel& Int(const std::string& name, int64_t value);
  TestModel& Float(const std::string& name, float value);
  TestModel& FloatList(const std::string& name, std::vector<float> values);
  TestModel& Ints(const std::string& name, std::vector<int64_t> values);
  TestModel& String(const std::string& name, const std::string& value);
  TestModel& Strings(const std::string& name, std::vector<std::string> values);
  // The graph of another model.
  TestModel& Graph(const std::string& name, TestModel& body);
  TestModel& Domain(const std::string& domain);
  TestModel& Name(const std::string& name);

  // A function of domain "local" with the nodes of another model; its inputs
  // and outputs are theirs.
  TestModel& Function(const std::string& name, TestModel& body);

  onnx::ModelProto& proto() { return model_; }
  std::string bytes() const { return model_.SerializeAsString(); }

 private:
  onnx::AttributeProto* Attribute(const std::string& name,
                                  onnx::AttributeProto::AttributeType type);

  onnx::ModelProto model_;
};

}  // namespace edgekiln::compiler::onnx_import

#endif  // EK_COMPILER_FRONTEND_ONNX_TESTING_TEST_MODEL_H_
