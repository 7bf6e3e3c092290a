// Published networks, quantized, exported and imported again: the same layers
// with the same integers, and the same results but for the rounding of ties.

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_join.h"
#include "compiler/export/onnx_export.h"
#include "compiler/export/testing/onnx_checker.h"
#include "compiler/export/testing/quantized_models.h"
#include "compiler/export/testing/round_trip.h"
#include "gtest/gtest.h"
#include "tests/support/shared_data.h"

namespace edgekiln::compiler {
namespace {

// Average pools of even windows come back as float ops, since floats do not
// round ties as integers do (docs/numerics.md section 7). Lines of
// IntegerDifferences(), by network.
const std::map<std::string, std::string>& FloatPools() {
  constexpr char kResnet[] =
      "average_pooling2d.avgpool: no average_pool2d any more\n"
      "average_pooling2d.avgpool.quantize: new quantize";
  static const auto& lines = *new std::map<std::string, std::string>{
      {"resnet8", kResnet},
      {"resnet8_tflite", kResnet},
      {"microkws",
       "average_pooling2d.avgpool: no average_pool2d any more\n"
       "average_pooling2d_1.avgpool: no average_pool2d any more\n"
       "average_pooling2d.avgpool.quantize: new quantize\n"
       "average_pooling2d_1.avgpool.quantize: new quantize"}};
  return lines;
}

// Transposes of integers: one that floats read as well, and one of a pool.
constexpr char kTransposesOfCct[] =
    "node_19_classifier_add.transpose: no transpose any more\n"
    "node_9_tokenizer_conv_layers_conv_layers_0_conv_: no transpose any more\n"
    "dequantize-3.transpose: new transpose\n"
    "node_19_classifier_add.transpose.int8: new transpose";

class OnnxExportModelsTest : public testing::TestWithParam<ModelCase> {
 protected:
  void SetUp() override {
    const ModelCase& row = GetParam();
    EK_REQUIRE_SHARED(row.model);
    if (*row.data != '\0') EK_REQUIRE_SHARED(row.data);
    Quantize({});
  }

  void Quantize(const v1::QuantizationNeeds& needs) {
    const ModelCase& row = GetParam();
    std::string data;
    if (*row.data != '\0') {
      data = tests::ReadWholeFile(tests::SharedPath(row.data));
    }
    absl::StatusOr<QuantizedModel> model = QuantizedModelOf(
        row, tests::ReadWholeFile(tests::SharedPath(row.model)), data, needs);
    ASSERT_TRUE(model.ok()) << model.status();
    model_ = *std::move(model);
  }

  // The layers that come back are those of the graph, but for these lines of
  // IntegerDifferences(). `ties_are_exact`: with the same roundings, so are the
  // results.
  void ExpectComesBack(const std::string& differences, bool ties_are_exact) {
    const auto again = ExportedAndImported(model_.graph);
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(absl::StrJoin(IntegerDifferences(model_.graph, *again), "\n"),
              differences);
    if (differences.empty()) {
      EXPECT_EQ(again->ops.size(), model_.graph.ops.size());
    }
    const Graph same_rounding = WithRoundingsOf(model_.graph, *again);
    for (const std::vector<std::string>& sample : model_.samples) {
      const auto before = OutputsOf(model_.graph, sample);
      ASSERT_TRUE(before.ok()) << before.status();
      const auto after = OutputsOf(same_rounding, sample);
      ASSERT_TRUE(after.ok()) << after.status();
      if (ties_are_exact) {
        EXPECT_TRUE(*after == *before);
      }
    }
  }

  // Ties rounded as ONNX does hardly move a class. Detectors have none.
  void ExpectSameClasses() {
    const std::string name = GetParam().name;
    if (name == "ultraface" || name == "yunet") return;
    const auto again = ExportedAndImported(model_.graph);
    ASSERT_TRUE(again.ok()) << again.status();
    for (const std::vector<std::string>& sample : model_.samples) {
      const auto before = OutputsOf(model_.graph, sample);
      ASSERT_TRUE(before.ok()) << before.status();
      const auto after = OutputsOf(*again, sample);
      ASSERT_TRUE(after.ok()) << after.status();
      EXPECT_EQ(LargestOf(*after), LargestOf(*before));
    }
  }

  bool IsCct() const { return GetParam().name == std::string("cct"); }

  QuantizedModel model_;
};

TEST_P(OnnxExportModelsTest, PassesTheChecker) {
  const auto bytes = ExportQdqOnnx(model_.graph);
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  const absl::Status checked = CheckedByOnnx(*bytes);
  EXPECT_TRUE(checked.ok()) << checked;
}

TEST_P(OnnxExportModelsTest, ComesBackWithTheSameIntegers) {
  const auto pools = FloatPools().find(GetParam().name);
  if (pools != FloatPools().end()) {
    ExpectComesBack(pools->second, /*ties_are_exact=*/false);
  } else {
    ExpectComesBack(IsCct() ? kTransposesOfCct : "", /*ties_are_exact=*/true);
  }
  ExpectSameClasses();
}

// One scale of weights per layer, symmetric activations. Between powers of two
// floats are exact, so that all average pools come back. Ties are so many that
// classes move, too.
TEST_P(OnnxExportModelsTest, ComesBackWithPowersOfTwo) {
  v1::QuantizationNeeds needs;
  needs.set_symmetric_activations(true);
  needs.set_power_of_two_scales(true);
  for (const char* kind : {"conv2d", "depthwise_conv2d", "fully_connected"}) {
    needs.add_per_tensor(kind);
  }
  Quantize(needs);
  ExpectComesBack(IsCct() ? kTransposesOfCct : "", /*ties_are_exact=*/true);
}

INSTANTIATE_TEST_SUITE_P(All, OnnxExportModelsTest,
                         testing::ValuesIn(ModelCases()), [](const auto& info) {
                           return std::string(info.param.name);
                         });

}  // namespace
}  // namespace edgekiln::compiler
