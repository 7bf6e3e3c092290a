// Published networks: what the interpreter computes after import, and again
// after simplification, against recorded outputs. Quantized networks must be
// equal in every value.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <ostream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "compiler/frontend/import.h"
#include "compiler/ir/interpreter.h"
#include "compiler/passes/pipeline.h"
#include "gtest/gtest.h"
#include "tests/support/npz.h"
#include "tests/support/shared_data.h"

namespace edgekiln::compiler {
namespace {

using Arrays = std::map<std::string, tests::NpyArray>;

constexpr double kMaxErrorOfRange = 1e-4;
constexpr int kSamples = 2;

struct ModelCase {
  const char* file;
  // Kinds of ops that simplification leaves, in order, without repetition.
  std::vector<std::string> kinds_left;
};

// Largest difference to the recorded outputs, as a share of their range.
double WorstError(const Graph& graph, const Arrays& golden, int sample) {
  std::vector<absl::string_view> inputs;
  for (const TensorId id : graph.inputs) {
    const std::string key =
        absl::StrCat("input_", sample, "_", graph.tensors[id].name);
    const auto found = golden.find(key);
    if (found == golden.end()) {
      ADD_FAILURE() << "no recorded " << key;
      return INFINITY;
    }
    inputs.push_back(found->second.data);
  }
  const auto outputs = Evaluate(graph, inputs);
  if (!outputs.ok()) {
    ADD_FAILURE() << outputs.status();
    return INFINITY;
  }
  double worst = 0;
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    const std::string key = absl::StrCat("output_", sample, "_",
                                         graph.tensors[graph.outputs[i]].name);
    const auto found = golden.find(key);
    if (found == golden.end() ||
        found->second.data.size() != (*outputs)[i].size()) {
      ADD_FAILURE() << "no recorded " << key << " of this size";
      return INFINITY;
    }
    if (graph.tensors[graph.outputs[i]].type != v1::FLOAT32) {
      if (found->second.data != (*outputs)[i]) return INFINITY;
      continue;
    }
    const std::vector<float> want = found->second.As<float>();
    const auto [low, high] = std::minmax_element(want.begin(), want.end());
    const double range = std::max<double>(*high - *low, 1e-6);
    for (size_t k = 0; k < want.size(); ++k) {
      float got = 0;
      std::memcpy(&got, (*outputs)[i].data() + k * sizeof(float),
                  sizeof(float));
      const double error = std::abs(double{got} - want[k]) / range;
      worst = std::isnan(error) ? INFINITY : std::max(worst, error);
    }
  }
  return worst;
}

std::vector<std::string> Kinds(const Graph& graph) {
  std::vector<std::string> kinds;
  for (const Op& op : graph.ops) {
    const std::string kind(op.kind());
    if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end()) {
      kinds.push_back(kind);
    }
  }
  return kinds;
}

class SimplifyModelsTest : public testing::TestWithParam<ModelCase> {};

void PrintTo(const ModelCase& row, std::ostream* out) { *out << row.file; }

TEST_P(SimplifyModelsTest, ComputesTheRecordedOutputs) {
  const std::string model = absl::StrCat("models/", GetParam().file);
  const std::string stem(absl::StripSuffix(GetParam().file, ".onnx"));
  const std::string recorded = absl::StrCat("models/golden/", stem, ".npz");
  EK_REQUIRE_SHARED(model);
  EK_REQUIRE_SHARED(recorded);
  absl::StatusOr<Graph> graph =
      ImportModel(tests::ReadWholeFile(tests::SharedPath(model)));
  ASSERT_TRUE(graph.ok()) << graph.status();
  const auto golden = tests::ReadNpz(tests::SharedPath(recorded));
  ASSERT_TRUE(golden.ok()) << golden.status();
  for (int sample = 0; sample < kSamples; ++sample) {
    EXPECT_LE(WorstError(*graph, *golden, sample), kMaxErrorOfRange)
        << "as imported, sample " << sample;
  }
  const absl::Status simplified = Simplify(*graph);
  ASSERT_TRUE(simplified.ok()) << simplified;
  for (int sample = 0; sample < kSamples; ++sample) {
    EXPECT_LE(WorstError(*graph, *golden, sample), kMaxErrorOfRange)
        << "simplified, sample " << sample;
  }
  EXPECT_EQ(Kinds(*graph), GetParam().kinds_left);
}

const ModelCase kModels[] = {
    // These state their quantization by pairs of ops. A pool whose averages lie
    // between two steps stays float, and the softmax that no Quantize follows.
    {"resnet8_int8_qdq.onnx",
     {"quantize", "conv2d", "add", "depthwise_conv2d", "reshape",
      "fully_connected", "dequantize", "softmax"}},
    {"dscnn_int8_qdq.onnx",
     {"quantize", "reshape", "conv2d", "depthwise_conv2d", "fully_connected",
      "dequantize", "softmax"}},
    {"ad_int8_qdq.onnx", {"quantize", "fully_connected", "dequantize"}},
    {"microkws_int8_qdq.onnx",
     {"quantize", "reshape", "conv2d", "max_pool2d", "dequantize",
      "average_pool2d", "fully_connected", "add", "softmax"}},
    {"cct_1_32_32_32_fp32.onnx",
     {"transpose", "conv2d", "max_pool2d", "reshape", "add",
      "layer_normalization", "fully_connected", "mat_mul", "mul", "softmax",
      "unary"}},
    {"mnist_cnn_fp32.onnx",
     {"reshape", "conv2d", "max_pool2d", "fully_connected"}},
    {"lenet_fp32.onnx",
     {"reshape", "conv2d", "max_pool2d", "fully_connected", "softmax"}},
    {"mnist_mlp_fp32.onnx",
     {"reshape", "max_pool2d", "fully_connected", "softmax"}},
    {"resnet8_fp32.onnx",
     {"transpose", "conv2d", "add", "average_pool2d", "reshape",
      "fully_connected", "softmax"}},
    {"dscnn_fp32.onnx",
     {"conv2d", "depthwise_conv2d", "average_pool2d", "reshape",
      "fully_connected"}},
    {"microkws_fp32.onnx",
     {"reshape", "conv2d", "max_pool2d", "average_pool2d", "fully_connected",
      "softmax"}},
    {"ultraface_slim_fp32.onnx",
     {"transpose", "conv2d", "depthwise_conv2d", "reshape", "concat",
      "softmax"}},
    {"resnet8_fp32.tflite",
     {"conv2d", "add", "average_pool2d", "reshape", "fully_connected",
      "softmax"}},
    {"resnet8_int8.tflite",
     {"conv2d", "add", "average_pool2d", "reshape", "fully_connected",
      "softmax"}},
    {"dscnn_int8.tflite",
     {"conv2d", "depthwise_conv2d", "average_pool2d", "reshape",
      "fully_connected", "softmax"}},
    {"ad_int8.tflite", {"fully_connected"}},
    {"person_detect_int8.tflite",
     {"depthwise_conv2d", "conv2d", "average_pool2d", "reshape", "softmax"}},
    {"mobilenet_v1_0.25_128_uint8.tflite",
     {"quantize", "conv2d", "depthwise_conv2d", "reshape", "softmax"}},
    {"mobilenet_v1_0.25_224_fp32.tflite",
     {"conv2d", "depthwise_conv2d", "average_pool2d", "reshape", "softmax"}},
};

INSTANTIATE_TEST_SUITE_P(All, SimplifyModelsTest, testing::ValuesIn(kModels),
                         [](const auto& info) {
                           std::string name = info.param.file;
                           std::replace(name.begin(), name.end(), '.', '_');
                           return name;
                         });

}  // namespace
}  // namespace edgekiln::compiler
