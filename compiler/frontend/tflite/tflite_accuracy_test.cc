#include <algorithm>
#include <cmath>
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

// Published networks on labelled data: the counts of the models' README, to the
// sample.
namespace edgekiln::compiler {
namespace {

using tests::NpyArray;

std::unique_ptr<Interpreter> Load(const std::string& file, ops::CpuPath path) {
  const auto graph =
      ImportTflite(tests::ReadWholeFile(tests::SharedPath(file)));
  EXPECT_TRUE(graph.ok()) << graph.status();
  if (!graph.ok()) return nullptr;
  auto interpreter = Interpreter::Create(*graph, {.cpu_path = path});
  EXPECT_TRUE(interpreter.ok()) << interpreter.status();
  return interpreter.ok() ? *std::move(interpreter) : nullptr;
}

template <typename T>
void Append(float value, std::string& bytes) {
  const auto stored = static_cast<T>(value);
  bytes.append(reinterpret_cast<const char*>(&stored), sizeof(stored));
}

// The network's outputs as numbers, for one sample of `values`.
std::vector<float> OutputOf(Interpreter& interpreter,
                            const std::vector<float>& values) {
  const Graph& graph = interpreter.graph();
  std::string input;
  for (const float value : values) {
    graph.tensors[graph.inputs[0]].type == v1::FLOAT32
        ? Append<float>(value, input)
        : Append<int8_t>(value, input);
  }
  const absl::Status status = interpreter.Run({input});
  EXPECT_TRUE(status.ok()) << status;
  const absl::string_view output = interpreter.value(graph.outputs[0]);
  std::vector<float> results(output.size());
  if (graph.tensors[graph.outputs[0]].type == v1::FLOAT32) {
    results.resize(output.size() / sizeof(float));
    std::memcpy(results.data(), output.data(), output.size());
  } else {
    std::transform(output.begin(), output.end(), results.begin(),
                   [](char c) { return static_cast<int8_t>(c); });
  }
  return results;
}

struct Case {
  const char* name;
  const char* model;
  const char* data;
  float scale;  // Network input = stored value * scale + offset.
  float offset;
  int correct;
  int first_class = 0;  // The network's class of label 0.
};

class TfliteAccuracyTest : public testing::TestWithParam<Case> {};

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
    const auto interpreter = Load(model, path);
    ASSERT_NE(interpreter, nullptr);
    int correct = 0;
    for (int64_t i = 0; i < y.size(); ++i) {
      std::vector<float> input;
      for (int64_t k = i * sample; k < (i + 1) * sample; ++k) {
        input.push_back(x.At<float>(k) * GetParam().scale + GetParam().offset);
      }
      const std::vector<float> scores = OutputOf(*interpreter, input);
      const auto best = std::max_element(scores.begin(), scores.end());
      const int64_t label = best - scores.begin() - GetParam().first_class;
      correct += label == y.At<int64_t>(i) ? 1 : 0;
    }
    EXPECT_EQ(correct, GetParam().correct);
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, TfliteAccuracyTest,
    testing::Values(Case{"Resnet8Int8", "resnet8_int8.tflite",
                         "cifar10_ic_100.npz", 1, -128, 83},
                    Case{"Resnet8Float", "resnet8_fp32.tflite",
                         "cifar10_ic_100.npz", 1, 0, 85},
                    Case{"DscnnInt8", "dscnn_int8.tflite", "kws_500.npz", 1, 0,
                         449},
                    // Weights of int8 with float activations; the README has no
                    // count. As many as the int8 network of the same training.
                    Case{"DscnnDynamicRange", "dscnn_dynamic_range.tflite",
                         "kws_500.npz", 0.5847029f, -83 * 0.5847029f, 449},
                    Case{"MobilenetFloat", "mobilenet_v1_0.25_224_fp32.tflite",
                         "photos_4.npz", 1 / 127.5f, -1, 3, 1}),
    [](const auto& info) { return info.param.name; });

// Share of pairs of a normal and an abnormal window that are in the right
// order.
double AreaUnderCurve(const std::vector<double>& normal,
                      const std::vector<double>& anomaly) {
  double right = 0;
  for (const double a : anomaly) {
    for (const double n : normal) right += a > n ? 1 : a == n ? 0.5 : 0;
  }
  return right / static_cast<double>(normal.size() * anomaly.size());
}

double Mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

TEST(TfliteAnomalyTest, ErrorsAndAreaEqualThePublishedOnes) {
  EK_REQUIRE_SHARED("models/ad_int8.tflite");
  const auto data = tests::ReadNpz(tests::SharedPath("data/ad_windows.npz"));
  ASSERT_TRUE(data.ok()) << data.status();
  const NpyArray& x = data->at("x");
  const NpyArray& y = data->at("y");
  const auto interpreter = Load("models/ad_int8.tflite", ops::CpuPath::kAuto);
  ASSERT_NE(interpreter, nullptr);
  const Graph& graph = interpreter->graph();
  const Quantization& in = *graph.tensors[graph.inputs[0]].quantization;
  const Quantization& out = *graph.tensors[graph.outputs[0]].quantization;
  const int64_t width = x.size() / y.size();
  std::vector<double> errors[2];
  for (int64_t i = 0; i < y.size(); ++i) {
    std::vector<float> input;
    for (int64_t k = 0; k < width; ++k) {
      // Half to even of the sum, as numpy rounds: what the README measured.
      const float q = std::nearbyint(x.At<float>(i * width + k) / in.scale[0] +
                                     static_cast<float>(in.zero_point[0]));
      input.push_back(std::clamp(q, -128.f, 127.f));
    }
    const std::vector<float> result = OutputOf(*interpreter, input);
    double error = 0;
    for (int64_t k = 0; k < width; ++k) {
      const double real =
          double{out.scale[0]} * (double{result[k]} - out.zero_point[0]);
      error += std::pow(real - x.At<double>(i * width + k), 2);
    }
    errors[y.At<int64_t>(i)].push_back(error / static_cast<double>(width));
  }
  EXPECT_NEAR(Mean(errors[0]), 10.21, 0.0005);
  EXPECT_NEAR(Mean(errors[1]), 11.711, 0.0005);
  EXPECT_NEAR(AreaUnderCurve(errors[0], errors[1]), 0.8508, 0.00005);
}

}  // namespace
}  // namespace edgekiln::compiler
