// Every published ONNX model against the outputs that ONNX Runtime recorded, as
// imported and simplified.

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
#include "compiler/passes/pipeline.h"
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

class OnnxGoldenTest : public testing::TestWithParam<ModelCase> {
 protected:
  void SetUp() override {
    const std::string model = absl::StrCat("models/", GetParam().name, ".onnx");
    const std::string recorded =
        absl::StrCat("models/golden/", GetParam().name, ".npz");
    EK_REQUIRE_SHARED(model);
    EK_REQUIRE_SHARED(recorded);
    graph_ = ImportOnnx(tests::ReadWholeFile(tests::SharedPath(model)));
    ASSERT_TRUE(graph_.ok()) << graph_.status();
    absl::StatusOr<Golden> golden = tests::ReadNpz(tests::SharedPath(recorded));
    ASSERT_TRUE(golden.ok()) << golden.status();
    golden_ = *std::move(golden);
  }

  // Inputs of a sample; fewer than the graph's if there is no such sample.
  std::vector<absl::string_view> Inputs(int sample) const {
    std::vector<absl::string_view> inputs;
    for (const TensorId id : graph_->inputs) {
      const auto input = golden_.find(
          absl::StrCat("input_", sample, "_", graph_->tensors[id].name));
      if (input != golden_.end()) inputs.push_back(input->second.data);
    }
    return inputs;
  }

  // Of one sample.
  void Compare(int sample, const std::vector<std::string>& outputs) {
    for (size_t i = 0; i < outputs.size(); ++i) {
      const Tensor& output = graph_->tensors[graph_->outputs[i]];
      const auto want =
          golden_.find(absl::StrCat("output_", sample, "_", output.name));
      ASSERT_NE(want, golden_.end()) << output.name;
      ASSERT_EQ(want->second.data.size(), outputs[i].size());
      off_ +=
          CountOff(want->second, outputs[i], output.type, GetParam().max_error);
      values_ += want->second.size();
    }
  }

  void ExpectRecordedOutputs() {
    int samples = 0;
    for (;; ++samples) {
      const std::vector<absl::string_view> inputs = Inputs(samples);
      if (inputs.size() != graph_->inputs.size()) break;
      const auto outputs = Evaluate(*graph_, inputs);
      ASSERT_TRUE(outputs.ok()) << outputs.status();
      ASSERT_NO_FATAL_FAILURE(Compare(samples, *outputs));
    }
    EXPECT_GT(samples, 0);
    EXPECT_LE(static_cast<double>(off_),
              GetParam().max_off * static_cast<double>(values_))
        << off_ << " of " << values_ << " values";
    RecordProperty("off", static_cast<int>(off_));
  }

  absl::StatusOr<Graph> graph_ = absl::UnknownError("");
  Golden golden_;
  int64_t values_ = 0;
  int64_t off_ = 0;
};

TEST_P(OnnxGoldenTest, ComputesTheRecordedOutputs) { ExpectRecordedOutputs(); }

TEST_P(OnnxGoldenTest, ComputesThemSimplified) {
  const absl::Status simplified = Simplify(*graph_);
  ASSERT_TRUE(simplified.ok()) << simplified;
  ExpectRecordedOutputs();
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
    {"resnet8_int8_qdq", 1.0 / 64, 0},
    {"dscnn_int8_qdq", 1.0 / 64, 0},
    {"ad_int8_qdq", 1.0 / 64, 0},
    {"microkws_int8_qdq", 1.0 / 64, 0},
    {"htvm_dscnn_digital", 1.0 / 64, 0},
    {"htvm_mobilenet_v1_0.25_96_digital", 1.0 / 64, 0},
    {"htvm_resnet8_digital", 1.0 / 64, 0},
    {"htvm_ad_digital", 1.0 / 64, 0},
    {"htvm_dscnn_mixed", 1.0 / 64, 0},
    {"htvm_ad_mixed", 1.0 / 64, 0},
    {"htvm_resnet8_mixed", 1.0 / 64, 0},
    {"htvm_mobilenet_v1_0.25_96_mixed", 1.0 / 64, 0},
};

INSTANTIATE_TEST_SUITE_P(All, OnnxGoldenTest, testing::ValuesIn(kModels),
                         [](const auto& info) {
                           std::string name = info.param.name;
                           std::replace(name.begin(), name.end(), '.', '_');
                           return name;
                         });

}  // namespace
}  // namespace edgekiln::compiler
