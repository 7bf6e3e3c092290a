// Every published ONNX model against the outputs that ONNX Runtime recorded,
// as imported: simplification has its own test.

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <ostream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "compiler/frontend/onnx/onnx_import.h"
#include "compiler/ir/interpreter.h"
#include "gtest/gtest.h"
#include "tests/support/npz.h"
#include "tests/support/shared_data.h"

namespace edgekiln::compiler {
namespace {

struct ModelCase {
  const char* name;  // Of the file, without ".onnx".
  // Of the output's range: 1e-4 for float models; one step of the output's
  // quantization otherwise.
  double max_error;
  double max_off;  // Share of the values that may be off by max_error at all.
};

void PrintTo(const ModelCase& row, std::ostream* out) { *out << row.name; }

using Golden = std::map<std::string, tests::NpyArray>;

// Counts values of one output that differ, and checks the largest difference.
int CountOff(const tests::NpyArray& want, const std::string& got,
             v1::ElementType type, double max_error) {
  tests::NpyArray actual = want;
  actual.data = got;
  actual.dtype = type == v1::INT8 ? "|i1" : type == v1::UINT8 ? "|u1" : "<f4";
  const std::vector<double> expected = want.As<double>();
  const std::vector<double> values = actual.As<double>();
  const auto [low, high] =
      std::minmax_element(expected.begin(), expected.end());
  const double range = std::max(*high - *low, 1e-6);
  int off = 0;
  double worst = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const double error = std::abs(values[i] - expected[i]) / range;
    worst = std::isnan(error) ? INFINITY : std::max(worst, error);
    off += error > 1e-4;
  }
  EXPECT_LE(worst, max_error);
  return off;
}

class OnnxGoldenTest : public testing::TestWithParam<ModelCase> {};

TEST_P(OnnxGoldenTest, ComputesTheRecordedOutputs) {
  const std::string model = absl::StrCat("models/", GetParam().name, ".onnx");
  const std::string recorded =
      absl::StrCat("models/golden/", GetParam().name, ".npz");
  EK_REQUIRE_SHARED(model);
  EK_REQUIRE_SHARED(recorded);
  const absl::StatusOr<Graph> graph =
      ImportOnnx(tests::ReadWholeFile(tests::SharedPath(model)));
  ASSERT_TRUE(graph.ok()) << graph.status();
  const absl::StatusOr<Golden> golden =
      tests::ReadNpz(tests::SharedPath(recorded));
  ASSERT_TRUE(golden.ok()) << golden.status();
  int samples = 0;
  int64_t values = 0;
  int64_t off = 0;
  for (;; ++samples) {
    std::vector<absl::string_view> inputs;
    for (const TensorId id : graph->inputs) {
      const auto input = golden->find(
          absl::StrCat("input_", samples, "_", graph->tensors[id].name));
      if (input != golden->end()) inputs.push_back(input->second.data);
    }
    if (inputs.size() != graph->inputs.size()) break;
    const auto outputs = Evaluate(*graph, inputs);
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    for (size_t i = 0; i < outputs->size(); ++i) {
      const Tensor& output = graph->tensors[graph->outputs[i]];
      const auto want =
          golden->find(absl::StrCat("output_", samples, "_", output.name));
      ASSERT_NE(want, golden->end()) << output.name;
      ASSERT_EQ(want->second.data.size(), (*outputs)[i].size());
      off += CountOff(want->second, (*outputs)[i], output.type,
                      GetParam().max_error);
      values += want->second.size();
    }
  }
  EXPECT_GT(samples, 0);
  EXPECT_LE(static_cast<double>(off),
            GetParam().max_off * static_cast<double>(values))
      << off << " of " << values << " values";
}

constexpr ModelCase kModels[] = {
    {"mnist_cnn_fp32", 1e-4, 0},
    {"lenet_fp32", 1e-4, 0},
    {"mnist_mlp_fp32", 1e-4, 0},
    {"resnet8_fp32", 1e-4, 0},
    {"dscnn_fp32", 1e-4, 0},
    {"microkws_fp32", 1e-4, 0},
    {"yunet_s_fp32", 1e-4, 0},
    {"ultraface_slim_fp32", 1e-4, 0},
    {"cct_1_32_32_32_fp32", 1e-4, 0},
    {"resnet8_int8_qdq", 1.0 / 64, 0.005},
    {"dscnn_int8_qdq", 1.0 / 64, 0.005},
    {"ad_int8_qdq", 1.0 / 64, 0.005},
    {"microkws_int8_qdq", 1.0 / 64, 0.005},
    {"htvm_dscnn_digital", 1.0 / 64, 0.005},
    {"htvm_mobilenet_v1_0.25_96_digital", 1.0 / 64, 0.005},
    {"htvm_resnet8_digital", 1.0 / 64, 0.005},
    {"htvm_ad_digital", 1.0 / 64, 0.005},
    {"htvm_dscnn_mixed", 1.0 / 64, 0.005},
    {"htvm_ad_mixed", 1.0 / 64, 0.005},
    {"htvm_resnet8_mixed", 1.0 / 64, 0.005},
    {"htvm_mobilenet_v1_0.25_96_mixed", 1.0 / 64, 0.005},
};

INSTANTIATE_TEST_SUITE_P(All, OnnxGoldenTest, testing::ValuesIn(kModels),
                         [](const auto& info) {
                           std::string name = info.param.name;
                           std::replace(name.begin(), name.end(), '.', '_');
                           return name;
                         });

}  // namespace
}  // namespace edgekiln::compiler
