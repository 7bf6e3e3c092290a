// Published networks as firmware: built by gcc or clang, run on the simulated
// core. Every output of every layer is the interpreter's.

#include <iterator>
#include <string>

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

// Hundreds of millions of operations: `tools/test --full`.
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

void ExpectSame(const std::string& model, const std::string& core,
                v1::CRecipe::Kernels kernels,
                v1::CompilerFamily family = v1::GCC) {
  SCOPED_TRACE(absl::StrCat(model, " on ", core, ", kernels ",
                            v1::CRecipe::Kernels_Name(kernels), ", ",
                            v1::CompilerFamily_Name(family)));
  auto graph = compiler::ImportModel(
      ReadWholeFile(SharedPath(absl::StrCat("models/", model))));
  ASSERT_TRUE(graph.ok()) << graph.status();
  ASSERT_TRUE(compiler::Simplify(*graph).ok());
  const absl::Status same = CompareFirmware(*graph, core, kernels, family);
  EXPECT_TRUE(same.ok()) << same;
}

class FirmwareModelsTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const std::string missing = MissingCompiler(v1::RV32IMC, v1::GCC);
    if (!missing.empty()) EK_SKIP(absl::StrCat("no ", missing));
    EK_REQUIRE_SHARED(absl::StrCat("models/", GetParam()));
  }
};

TEST_P(FirmwareModelsTest, EqualsTheInterpreterInEveryLayer) {
  ExpectSame(GetParam(), UsualCore(GetParam()),
             v1::CRecipe::KERNELS_UNSPECIFIED);
}

INSTANTIATE_TEST_SUITE_P(Public, FirmwareModelsTest, testing::ValuesIn(kModels),
                         [](const auto& info) {
                           std::string name = info.param;
                           for (char& c : name) {
                             if (!absl::ascii_isalnum(
                                     static_cast<unsigned char>(c)))
                               c = '_';
                           }
                           return name;
                         });

// Every fourth model.
TEST(ClangFirmwareModelsTest, EqualTheInterpreterInEveryLayer) {
  const std::string missing = MissingCompiler(v1::RV32IMC, v1::CLANG);
  if (!missing.empty()) EK_SKIP(absl::StrCat("no ", missing));
  EK_REQUIRE_SHARED("models");
  for (size_t i = 0; i < std::size(kModels); i += 4) {
    ExpectSame(kModels[i], UsualCore(kModels[i]),
               v1::CRecipe::KERNELS_UNSPECIFIED, v1::CLANG);
  }
}

TEST(AllFirmwareModelsTest, DISABLED_OnEveryCoreWithEveryRecipe) {
  for (const char* model : kLargeModels) {
    ExpectSame(model, UsualCore(model), v1::CRecipe::KERNELS_UNSPECIFIED);
  }
  for (const char* model : kModels) {
    for (const char* core : {"rv32im", "rv32imc", "rv32imf"}) {
      for (int kernels = 0; v1::CRecipe::Kernels_IsValid(kernels); ++kernels) {
        for (const v1::CompilerFamily family : {v1::GCC, v1::CLANG}) {
          ExpectSame(model, core, static_cast<v1::CRecipe::Kernels>(kernels),
                     family);
        }
      }
    }
  }
}

}  // namespace
}  // namespace edgekiln::tests
