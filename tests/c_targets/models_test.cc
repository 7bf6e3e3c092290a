// Published networks as firmware: built by gcc or clang, run on the simulated
// core. Every output of every layer is the interpreter's. With EK_MORE_NETWORKS
// in the environment all recipes (`tools/test --full`).

#include <cstdlib>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "compiler/frontend/import.h"
#include "compiler/passes/pipeline.h"
#include "gtest/gtest.h"
#include "tests/c_targets/firmware_build.h"
#include "tests/c_targets/firmware_comparison.h"
#include "tests/support/shared_data.h"
#include "tests/support/skip.h"

namespace edgekiln::tests {
namespace {

const char* const kModels[] = {
    "ad_int8.tflite",
    "ad_int8_qdq.onnx",
    "cct_1_32_32_32_fp32.onnx",
    "dscnn_dynamic_range.tflite",
    "dscnn_fp32.onnx",
    "dscnn_int8.tflite",
    "dscnn_int8_qdq.onnx",
    "htvm_ad_digital.onnx",
    "htvm_ad_mixed.onnx",
    "htvm_dscnn_digital.onnx",
    "htvm_dscnn_mixed.onnx",
    "htvm_mobilenet_v1_0.25_96_digital.onnx",
    "htvm_mobilenet_v1_0.25_96_mixed.onnx",
    "htvm_resnet8_digital.onnx",
    "htvm_resnet8_mixed.onnx",
    "lenet_fp32.onnx",
    "microkws_fp32.onnx",
    "microkws_int8_qdq.onnx",
    "mnist_cnn_fp32.onnx",
    "mnist_mlp_fp32.onnx",
    "mobilenet_v1_0.25_128_uint8.tflite",
    "person_detect_int8.tflite",
    "resnet8_fp32.onnx",
    "resnet8_fp32.tflite",
    "resnet8_int8.tflite",
    "resnet8_int8_qdq.onnx",
    "yunet_s_fp32.onnx",
};

// Hundreds of millions of operations: AllBuilds() alone.
const char* const kLargeModels[] = {
    "mobilenet_v1_0.25_224_fp32.tflite",
    "mobilenet_v1_1.0_224_embedding_uint8.tflite",
    "ultraface_slim_fp32.onnx",
};

bool ComputesInFloats(absl::string_view model) {
  return absl::StrContains(model, "fp32") ||
         absl::StrContains(model, "dynamic");
}

// Without float instructions, one takes hundreds.
std::string UsualCore(absl::string_view model) {
  return ComputesInFloats(model) ? "rv32imf" : "rv32imc";
}

struct Build {
  std::string model;
  std::string core;
  v1::CRecipe::Kernels kernels = v1::CRecipe::KERNELS_UNSPECIFIED;
  v1::CompilerFamily family = v1::GCC;
};

// Of each model one, of every fourth one by clang, too.
std::vector<Build> SomeBuilds() {
  std::vector<Build> builds;
  for (size_t i = 0; i < std::size(kModels); ++i) {
    builds.push_back({.model = kModels[i], .core = UsualCore(kModels[i])});
    if (i % 4 != 0) continue;
    builds.push_back(builds.back());
    builds.back().family = v1::CLANG;
  }
  return builds;
}

// Of each model every recipe by every compiler, and one on every core.
std::vector<Build> AllBuilds() {
  std::vector<Build> builds;
  for (const char* model : kModels) {
    const std::string usual = UsualCore(model);
    for (int kernels = 0; v1::CRecipe::Kernels_IsValid(kernels); ++kernels) {
      for (const v1::CompilerFamily family : {v1::GCC, v1::CLANG}) {
        builds.push_back(
            {model, usual, static_cast<v1::CRecipe::Kernels>(kernels), family});
      }
    }
    for (const char* core : {"rv32im", "rv32imc", "rv32imf"}) {
      if (core != usual) builds.push_back({.model = model, .core = core});
    }
  }
  for (const char* model : kLargeModels) {
    builds.push_back({.model = model, .core = UsualCore(model)});
  }
  return builds;
}

class FirmwareModelsTest : public testing::TestWithParam<Build> {};

TEST_P(FirmwareModelsTest, EqualsTheInterpreterInEveryLayer) {
  const Build& build = GetParam();
  const std::string missing = MissingCompiler(v1::RV32IMC, build.family);
  if (!missing.empty()) EK_SKIP(absl::StrCat("no ", missing));
  const std::string file = absl::StrCat("models/", build.model);
  EK_REQUIRE_SHARED(file);
  auto graph = compiler::ImportModel(ReadWholeFile(SharedPath(file)));
  ASSERT_TRUE(graph.ok()) << graph.status();
  ASSERT_TRUE(compiler::Simplify(*graph).ok());
  const absl::Status same =
      CompareFirmware(*graph, build.core, build.kernels, build.family);
  EXPECT_TRUE(same.ok()) << same;
}

INSTANTIATE_TEST_SUITE_P(
    Public, FirmwareModelsTest,
    testing::ValuesIn(getenv("EK_MORE_NETWORKS") == nullptr ? SomeBuilds()
                                                            : AllBuilds()),
    [](const testing::TestParamInfo<Build>& info) {
      const Build& build = info.param;
      std::string name =
          absl::StrCat(build.model, "_", build.core, "_",
                       v1::CRecipe::Kernels_Name(build.kernels), "_",
                       v1::CompilerFamily_Name(build.family));
      for (char& c : name) {
        if (!absl::ascii_isalnum(static_cast<unsigned char>(c))) c = '_';
      }
      return name;
    });

}  // namespace
}  // namespace edgekiln::tests
