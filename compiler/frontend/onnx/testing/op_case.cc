#include "compiler/frontend/onnx/testing/op_case.h"

#include <cstring>
#include <utility>

#include "absl/strings/string_view.h"
#include "compiler/frontend/onnx/onnx_import.h"
#include "compiler/ir/interpreter.h"
#include "compiler/passes/pipeline.h"

namespace edgekiln::compiler {
namespace {

using onnx_import::TestModel;

absl::string_view Bytes(const std::vector<float>& values) {
  return {reinterpret_cast<const char*>(values.data()),
          values.size() * sizeof(float)};
}

std::vector<float> Floats(const std::string& bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

void ExpectComputes(const Graph& graph, const OpCase& row) {
  std::vector<absl::string_view> inputs = {Bytes(row.x)};
  if (!row.z.empty()) inputs.push_back(Bytes(row.z));
  const auto outputs = Evaluate(graph, inputs);
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  ASSERT_EQ(outputs->size(), 1u);
  EXPECT_EQ(graph.tensors[graph.outputs[0]].name, "y");
  EXPECT_EQ(graph.tensors[graph.outputs[0]].shape, row.shape);
  const std::vector<float> y = Floats((*outputs)[0]);
  ASSERT_EQ(y.size(), row.y.size());
  for (size_t i = 0; i < y.size(); ++i) {
    EXPECT_NEAR(y[i], row.y[i], 1e-5) << "element " << i;
  }
}

}  // namespace

onnx_import::TestModel Unary(std::vector<int64_t> shape, int opset) {
  TestModel model(opset);
  model.Input("x", std::move(shape)).Output("y");
  return model;
}

onnx_import::TestModel Binary(std::vector<int64_t> x, std::vector<int64_t> z,
                              int opset) {
  TestModel model(opset);
  model.Input("x", std::move(x)).Input("z", std::move(z)).Output("y");
  return model;
}

TEST_P(OnnxOpTest, Computes) {
  absl::StatusOr<Graph> graph = ImportOnnx(TestModel(GetParam().model).bytes());
  ASSERT_TRUE(graph.ok()) << graph.status();
  ExpectComputes(*graph, GetParam());
  const absl::Status simplified = Simplify(*graph);
  ASSERT_TRUE(simplified.ok()) << simplified;
  ExpectComputes(*graph, GetParam());
}

}  // namespace edgekiln::compiler
