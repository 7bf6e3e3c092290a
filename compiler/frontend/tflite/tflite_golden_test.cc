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

// Index of the largest value; the first of equals.
int64_t ArgMax(absl::string_view values) {
  int64_t best = 0;
  for (int64_t i = 1; i < std::ssize(values); ++i) {
    if (static_cast<int8_t>(values[i]) > static_cast<int8_t>(values[best])) {
      best = i;
    }
  }
  return best;
}

// Weights of int8 with float activations. There is no reference output; the
// int8 network of the same training is right on 449 of 500.
TEST(TfliteDynamicRangeTest, IsAsGoodAsTheIntegerNetwork) {
  const std::string model = "models/dscnn_dynamic_range.tflite";
  EK_REQUIRE_SHARED(model);
  const auto data = tests::ReadNpz(tests::SharedPath("data/kws_500.npz"));
  ASSERT_TRUE(data.ok()) << data.status();
  const NpyArray& x = data->at("x");
  const NpyArray& y = data->at("y");
  const float scale = data->at("x_scale").At<float>(0);
  const float offset = data->at("x_offset").At<float>(0);
  const int64_t sample = x.size() / y.size();
  const auto interpreter = Load(tests::SharedPath(model), ops::CpuPath::kAuto);
  ASSERT_NE(interpreter, nullptr);
  int correct = 0;
  for (int64_t i = 0; i < y.size(); ++i) {
    std::vector<float> input;
    for (int64_t k = 0; k < sample; ++k) {
      input.push_back(x.At<float>(i * sample + k) * scale + offset);
    }
    const absl::string_view bytes(reinterpret_cast<const char*>(input.data()),
                                  input.size() * sizeof(float));
    ASSERT_TRUE(interpreter->Run({bytes}).ok());
    const absl::string_view result =
        interpreter->value(interpreter->graph().outputs[0]);
    std::vector<float> scores(result.size() / sizeof(float));
    std::memcpy(scores.data(), result.data(), result.size());
    const auto best = std::max_element(scores.begin(), scores.end());
    correct += best - scores.begin() == y.At<int64_t>(i) ? 1 : 0;
  }
  EXPECT_EQ(correct, 449);
}

struct AccuracyCase {
  const char* name;
  const char* model;
  const char* data;
  int offset;  // Stored value + offset = network input.
  int correct;
};

class TfliteAccuracyTest : public testing::TestWithParam<AccuracyCase> {};

TEST_P(TfliteAccuracyTest, EqualsThePublishedCountOnEveryCpuPath) {
  const std::string model = absl::StrCat("models/", GetParam().model);
  EK_REQUIRE_SHARED(model);
  const auto data =
      tests::ReadNpz(tests::SharedPath(absl::StrCat("data/", GetParam().data)));
  ASSERT_TRUE(data.ok()) << data.status();
  const NpyArray& x = data->at("x");
  const NpyArray& y = data->at("y");
  const int64_t sample = x.size() / y.size();
  for (const ops::CpuPath path :
       {ops::CpuPath::kScalar, ops::CpuPath::kAvx2, ops::CpuPath::kAvx512}) {
    const auto interpreter = Load(tests::SharedPath(model), path);
    ASSERT_NE(interpreter, nullptr);
    int correct = 0;
    for (int64_t i = 0; i < y.size(); ++i) {
      std::string input = x.data.substr(i * sample, sample);
      for (char& c : input) c = static_cast<char>(c + GetParam().offset);
      ASSERT_TRUE(interpreter->Run({input}).ok());
      const int64_t label =
          ArgMax(interpreter->value(interpreter->graph().outputs[0]));
      correct += label == y.At<int64_t>(i) ? 1 : 0;
    }
    EXPECT_EQ(correct, GetParam().correct);
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, TfliteAccuracyTest,
    testing::Values(AccuracyCase{"Resnet8", "resnet8_int8.tflite",
                                 "cifar10_ic_100.npz", -128, 83},
                    AccuracyCase{"Dscnn", "dscnn_int8.tflite", "kws_500.npz", 0,
                                 449}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace edgekiln::compiler
