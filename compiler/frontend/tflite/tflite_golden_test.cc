#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "compiler/frontend/tflite/tflite_import.h"
#include "compiler/ir/interpreter.h"
#include "gtest/gtest.h"
#include "tests/support/npz.h"
#include "tests/support/shared_data.h"

// Published networks against their reference outputs: every value for integer
// networks, within 1e-4 of the range for float ones.
namespace edgekiln::compiler {
namespace {

using tests::NpyArray;
using Arrays = std::map<std::string, NpyArray>;

std::unique_ptr<Interpreter> Load(const std::string& path,
                                  ops::CpuPath cpu_path) {
  const absl::StatusOr<Graph> graph = ImportTflite(tests::ReadWholeFile(path));
  EXPECT_TRUE(graph.ok()) << graph.status();
  if (!graph.ok()) return nullptr;
  auto interpreter = Interpreter::Create(*graph, {.cpu_path = cpu_path});
  EXPECT_TRUE(interpreter.ok()) << interpreter.status();
  return interpreter.ok() ? *std::move(interpreter) : nullptr;
}

// The array of sample `k` whose name starts with `role` and belongs to the
// tensor; null if the sample does not exist.
const NpyArray* Find(const Arrays& arrays, const std::string& role, int k,
                     const std::string& tensor) {
  const auto it = arrays.find(absl::StrCat(role, "_", k, "_", tensor));
  return it == arrays.end() ? nullptr : &it->second;
}

void ExpectSame(absl::string_view actual, const NpyArray& expected,
                bool is_float) {
  ASSERT_EQ(actual.size(), expected.data.size());
  if (!is_float) {
    EXPECT_TRUE(actual == expected.data);
    return;
  }
  const std::vector<float> want = expected.As<float>();
  const auto [low, high] = std::minmax_element(want.begin(), want.end());
  const float tolerance = 1e-4f * (*high - *low);
  for (size_t i = 0; i < want.size(); ++i) {
    float value = 0;
    std::memcpy(&value, actual.data() + i * sizeof(value), sizeof(value));
    ASSERT_NEAR(value, want[i], tolerance) << "element " << i;
  }
}

struct Case {
  const char* name;
  const char* model;
  bool is_float = false;
};

class TfliteGoldenTest : public testing::TestWithParam<Case> {};

TEST_P(TfliteGoldenTest, OutputsEqualTheReference) {
  const std::string model = absl::StrCat("models/", GetParam().model);
  const std::string golden =
      absl::StrCat("models/golden/", GetParam().model, ".npz");
  EK_REQUIRE_SHARED(model);
  const auto arrays = tests::ReadNpz(tests::SharedPath(golden));
  ASSERT_TRUE(arrays.ok()) << arrays.status();
  const auto interpreter = Load(tests::SharedPath(model), ops::CpuPath::kAuto);
  ASSERT_NE(interpreter, nullptr);
  const Graph& graph = interpreter->graph();
  ASSERT_EQ(graph.inputs.size(), 1u);
  const std::string& input = graph.tensors[graph.inputs[0]].name;
  int samples = 0;
  while (const NpyArray* x = Find(*arrays, "input", samples, input)) {
    ASSERT_TRUE(interpreter->Run({x->data}).ok());
    for (const TensorId id : graph.outputs) {
      const NpyArray* want =
          Find(*arrays, "output", samples, graph.tensors[id].name);
      ASSERT_NE(want, nullptr) << graph.tensors[id].name;
      ExpectSame(interpreter->value(id), *want, GetParam().is_float);
    }
    ++samples;
  }
  EXPECT_GE(samples, 2);
}

INSTANTIATE_TEST_SUITE_P(
    All, TfliteGoldenTest,
    testing::Values(
        Case{"Resnet8Int8", "resnet8_int8.tflite"},
        Case{"DscnnInt8", "dscnn_int8.tflite"},
        Case{"AdInt8", "ad_int8.tflite"},
        Case{"PersonDetectInt8", "person_detect_int8.tflite"},
        Case{"MobilenetUint8", "mobilenet_v1_0.25_128_uint8.tflite"},
        Case{"EmbeddingUint8", "mobilenet_v1_1.0_224_embedding_uint8.tflite"},
        Case{"Resnet8Float", "resnet8_fp32.tflite", true},
        Case{"MobilenetFloat", "mobilenet_v1_0.25_224_fp32.tflite", true}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace edgekiln::compiler
