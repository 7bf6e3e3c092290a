// Published networks as C: every output of every layer is the interpreter's.

#include <iterator>
#include <string>
#include <vector>

#include "compiler/codegen/c/c_sources.h"
#include "compiler/codegen/c/testing/compiled_networks.h"
#include "compiler/frontend/import.h"
#include "compiler/passes/pipeline.h"
#include "gtest/gtest.h"
#include "tests/support/shared_data.h"

namespace edgekiln::compiler {
namespace {

// Every recipe.
constexpr const char* kModels[] = {
    "models/resnet8_int8.tflite",   "models/ad_int8.tflite",
    "models/dscnn_int8.tflite",     "models/person_detect_int8.tflite",
    "models/mnist_cnn_fp32.onnx",   "models/mnist_mlp_fp32.onnx",
    "models/lenet_fp32.onnx",       "models/dscnn_fp32.onnx",
    "models/dscnn_int8_qdq.onnx",   "models/microkws_int8_qdq.onnx",
    "models/htvm_dscnn_mixed.onnx", "models/resnet8_int8_qdq.onnx",
};

// The default one only.
constexpr const char* kMoreModels[] = {
    "models/ad_int8_qdq.onnx",
    "models/dscnn_dynamic_range.tflite",
    "models/microkws_fp32.onnx",
    "models/resnet8_fp32.tflite",
    "models/htvm_ad_digital.onnx",
    "models/htvm_dscnn_digital.onnx",
    "models/htvm_resnet8_digital.onnx",
    "models/htvm_resnet8_mixed.onnx",
    "models/htvm_mobilenet_v1_0.25_96_digital.onnx",
    "models/mobilenet_v1_0.25_128_uint8.tflite",
    "models/cct_1_32_32_32_fp32.onnx",
    "models/yunet_s_fp32.onnx",
};

std::vector<const char*> ModelsOf(CRecipe recipe) {
  std::vector<const char*> models(std::begin(kModels), std::end(kModels));
  if (recipe == CRecipe::kDefault) {
    models.insert(models.end(), std::begin(kMoreModels), std::end(kMoreModels));
  }
  return models;
}

class CModelsTest : public testing::TestWithParam<CRecipe> {};

TEST_P(CModelsTest, EqualTheInterpreterInEveryLayer) {
  std::vector<CNetwork> networks;
  for (const char* path : ModelsOf(GetParam())) {
    EK_REQUIRE_SHARED(path);
    auto graph = ImportModel(tests::ReadWholeFile(tests::SharedPath(path)));
    ASSERT_TRUE(graph.ok()) << path << graph.status();
    ASSERT_TRUE(Simplify(*graph).ok()) << path;
    COptions options;
    options.name = path;
    options.recipe = GetParam();
    auto sources = EmitC(*graph, options);
    ASSERT_TRUE(sources.ok()) << path << sources.status();
    std::vector<std::vector<std::string>> samples;
    for (uint64_t sample = 0; sample < 2; ++sample) {
      samples.push_back(RandomInputs(*graph, sample));
    }
    networks.push_back(
        {*std::move(graph), *std::move(sources), std::move(samples)});
  }
  const absl::Status same = CompareWithInterpreter(
      networks, {.flags = "-O1", .networks_per_unit = 4});
  EXPECT_TRUE(same.ok()) << same;
}

std::string RecipeName(const testing::TestParamInfo<CRecipe>& info) {
  constexpr const char* kNames[] = {"default", "size", "plain", "table", "uma"};
  return kNames[static_cast<int>(info.param)];
}

INSTANTIATE_TEST_SUITE_P(Recipes, CModelsTest,
                         testing::Values(CRecipe::kDefault, CRecipe::kPlain,
                                         CRecipe::kSize, CRecipe::kTable,
                                         CRecipe::kUma),
                         RecipeName);

}  // namespace
}  // namespace edgekiln::compiler
