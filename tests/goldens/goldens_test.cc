// Programs, cycles, taps and reports of the published networks, byte for byte
// as they were: what a change that only moves code has to leave alone, and what
// a change of the compiler or of a chip shows in review.
//
// One file per network, two lines per chip: figures, then a digest of each
// aspect (run_facts.h). EK_UPDATE_GOLDENS=1 accepts a change; `goldens_print`
// prints the text behind a digest, to be compared with that of another build.

#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "target/resolve.h"
#include "tests/goldens/golden_chips.h"
#include "tests/goldens/run_facts.h"
#include "tests/support/golden.h"
#include "tests/support/shared_data.h"

namespace edgekiln::tests {
namespace {

class GoldensTest : public testing::TestWithParam<const char*> {};

TEST_P(GoldensTest, AreUnchanged) {
  const std::string file = absl::StrCat("models/", GetParam());
  EK_REQUIRE_SHARED(file);
  const auto network = LoadGoldenNetwork(ReadWholeFile(SharedPath(file)));
  ASSERT_TRUE(network.ok()) << network.status();
  std::string text;
  for (const GoldenChip& chip : GoldenChips()) {
    SCOPED_TRACE(chip.name);
    const auto target = target::ResolveTarget(chip.descriptor);
    ASSERT_TRUE(target.ok()) << target.status();
    const auto facts = FactsOf(*network, *target);
    ASSERT_TRUE(facts.ok()) << facts.status();
    absl::StrAppend(&text, chip.name, "\n", Summary(*facts));
  }
  ExpectMatchesGolden(
      absl::StrCat("tests/goldens/networks/", GetParam(), ".golden"), text);
}

std::string CaseName(const testing::TestParamInfo<const char*>& info) {
  std::string name = info.param;
  for (char& c : name) {
    if (!absl::ascii_isalnum(c)) c = '_';
  }
  return name;
}

INSTANTIATE_TEST_SUITE_P(
    Networks, GoldensTest,
    testing::Values(
        "ad_int8.tflite", "ad_int8_qdq.onnx", "cct_1_32_32_32_fp32.onnx",
        "dscnn_dynamic_range.tflite", "dscnn_fp32.onnx", "dscnn_int8.tflite",
        "dscnn_int8_qdq.onnx", "htvm_ad_digital.onnx", "htvm_ad_mixed.onnx",
        "htvm_dscnn_digital.onnx", "htvm_dscnn_mixed.onnx",
        "htvm_mobilenet_v1_0.25_96_digital.onnx",
        "htvm_mobilenet_v1_0.25_96_mixed.onnx", "htvm_resnet8_digital.onnx",
        "htvm_resnet8_mixed.onnx", "lenet_fp32.onnx", "microkws_fp32.onnx",
        "microkws_int8_qdq.onnx", "mnist_cnn_fp32.onnx", "mnist_mlp_fp32.onnx",
        "mobilenet_v1_0.25_128_uint8.tflite",
        "mobilenet_v1_0.25_224_fp32.tflite",
        "mobilenet_v1_1.0_224_embedding_uint8.tflite",
        "person_detect_int8.tflite", "resnet8_fp32.onnx", "resnet8_fp32.tflite",
        "resnet8_int8.tflite", "resnet8_int8_qdq.onnx",
        "ultraface_slim_fp32.onnx", "yunet_s_fp32.onnx"),
    CaseName);

}  // namespace
}  // namespace edgekiln::tests
