// Goal QUANTIZE: which stages it takes, and what it reports.

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/convert.h"
#include "server/testing/compile_job_fixture.h"

namespace edgekiln::server {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::UnorderedElementsAre;

class QuantizeJobTest : public CompileJobTest {};

TEST_F(QuantizeJobTest, EndsWithTheGraphOfQuantize) {
  const JobResult result = Run(Request("float net", {"per tensor;dwarf"},
                                       {v1::QUANTIZE}, "", "samples=20"));
  ASSERT_TRUE(result.status.ok()) << result.status;
  // Nothing asks whether it fits, and nothing is placed.
  EXPECT_THAT(leases_->TakeExecuted(),
              ElementsAre("calibrate", "convert_calibration", "import",
                          "quantize", "resolve_target", "simplify"));
  ASSERT_EQ(result.reports.size(), 1u);
  const v1::Report& report = result.reports[0];
  ASSERT_EQ(report.quantized().layers_size(), 1);
  EXPECT_EQ(report.quantized().layers(0).id(), "conv1");
  EXPECT_EQ(report.quantized().output_sqnr_db(), 30);
  EXPECT_EQ(report.calibration(), "DATA");
  EXPECT_THAT(report.quantization(), HasSubstr("one weight scale"));
  EXPECT_EQ(report.recipe(), "");
  EXPECT_EQ(report.offload(), "");
  EXPECT_FALSE(report.has_accuracy());
  EXPECT_THAT(report.warnings(), IsEmpty());
  EXPECT_THAT(result.artifacts, IsEmpty());
}

TEST_F(QuantizeJobTest, MeasuresBothNetworksOnLabelledData) {
  v1::CreateJobRequest request =
      Request("float net", {"conv;sram=64"}, {v1::QUANTIZE},
              "samples=40 labelled=40", "samples=20");
  const JobResult result = Run(request);
  ASSERT_TRUE(result.status.ok()) << result.status;
  EXPECT_THAT(
      leases_->TakeExecuted(),
      UnorderedElementsAre(
          "calibrate", "convert_calibration", "convert_data",
          "convert_reference", "import", "interpret[0]", "interpret[1]",
          "interpret[2]", "interpret_quantized[0]", "interpret_quantized[1]",
          "interpret_quantized[2]", "quantize", "resolve_target", "simplify"));
  const v1::Report::Accuracy& accuracy = result.reports[0].accuracy();
  EXPECT_EQ(accuracy.samples(), 40);
  EXPECT_EQ(accuracy.reference(), v1::Report::Accuracy::FLOAT);
  // All of the data, where a profile would take 16 samples.
  request.mutable_options()->set_limit(20);
  const JobResult limited = Run(request);
  ASSERT_TRUE(limited.status.ok()) << limited.status;
}

TEST_F(QuantizeJobTest, NeedsNoTargetAndNoCalibrationData) {
  const JobResult result =
      Run(Request("float net", {}, {v1::QUANTIZE}, "samples=40 labelled=40"));
  ASSERT_TRUE(result.status.ok()) << result.status;
  ASSERT_EQ(result.reports.size(), 1u);
  const v1::Report& report = result.reports[0];
  EXPECT_EQ(report.target_name(), "");
  EXPECT_EQ(report.quantized().layers_size(), 1);
  EXPECT_EQ(report.quantization(), "");
  EXPECT_EQ(report.calibration(), "SYNTHETIC");
  // Ranges that are a guess have no accuracy.
  EXPECT_FALSE(report.has_accuracy());
  ASSERT_THAT(report.warnings(),
              ElementsAre(HasSubstr("without calibration data")));
  EXPECT_THAT(report.warnings(0), HasSubstr("no accuracy"));
}

TEST_F(QuantizeJobTest, AModelThatCameQuantizedStaysAsItIs) {
  const JobResult result =
      Run(Request("int8 net", {"conv;sram=64"}, {v1::QUANTIZE},
                  "samples=20 labelled=20", "samples=20"));
  ASSERT_TRUE(result.status.ok()) << result.status;
  EXPECT_THAT(
      leases_->TakeExecuted(),
      UnorderedElementsAre("convert_data", "import", "interpret_quantized[0]",
                           "interpret_quantized[1]", "resolve_target",
                           "simplify", "unquantize"));
  const v1::Report& report = result.reports[0];
  EXPECT_EQ(report.quantized().layers_size(), 0);
  EXPECT_THAT(report.quantized().notes(),
              ElementsAre(HasSubstr("stays exactly as it is")));
  EXPECT_EQ(report.accuracy().reference(), v1::Report::Accuracy::SOURCE_INT8);
  EXPECT_EQ(report.accuracy().value(), report.accuracy().reference_value());
  EXPECT_THAT(report.warnings(),
              ElementsAre(HasSubstr("calibration data is not used")));
}

// What is known before calibration is where layers of int8 are.
TEST_F(QuantizeJobTest, Int16IsNotCheckedByTheInt8Form) {
  v1::CreateJobRequest request =
      Request("float net", {"conv;sram=64"}, {v1::COMPILE}, "", "samples=20");
  request.mutable_options()->mutable_quantization()->set_activations(
      v1::QuantizationConfig::ACTIVATIONS_INT16);
  ASSERT_TRUE(Run(request).status.ok());
  EXPECT_THAT(leases_->TakeExecuted(),
              AllOf(Contains("quantize"), Not(Contains("check_fit"))));
  request.mutable_options()->clear_quantization();
  ASSERT_TRUE(Run(request).status.ok());
  EXPECT_THAT(leases_->TakeExecuted(),
              AllOf(Contains("quantize"), Contains("check_fit")));
  // A model that came quantized keeps its integers.
  request =
      Request("int8 net", {"conv;sram=64"}, {v1::COMPILE}, "", "samples=20");
  request.mutable_options()->mutable_quantization()->set_activations(
      v1::QuantizationConfig::ACTIVATIONS_INT16);
  ASSERT_TRUE(Run(request).status.ok());
  EXPECT_THAT(leases_->TakeExecuted(), Contains("check_fit"));
}

TEST_F(QuantizeJobTest, ExportsWhatQuantizeMade) {
  v1::CreateJobRequest request =
      Request("float net", {"conv;sram=64"}, {v1::QUANTIZE}, "", "samples=20");
  request.mutable_options()->set_export_onnx(true);
  const JobResult result = Run(request);
  ASSERT_TRUE(result.status.ok()) << result.status;
  ASSERT_EQ(result.artifacts.size(), 1u);
  EXPECT_EQ(result.artifacts[0].path(), "model.onnx");
  EXPECT_EQ(result.artifacts[0].target(), 0);
  const auto digest = FromProto(result.artifacts[0].digest());
  ASSERT_TRUE(digest.ok());
  const auto text = blobs_->Get(*digest);
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_TRUE(absl::StartsWith(*text, "onnx graph<quantize")) << *text;
}

TEST_F(QuantizeJobTest, ChoosesWhereEnginesTakeMoreThanOneForm) {
  const JobResult result = Run(Request("float net", {"ternary too;dwarf"},
                                       {v1::QUANTIZE}, "", "samples=20"));
  ASSERT_TRUE(result.status.ok()) << result.status;
  EXPECT_THAT(leases_->TakeExecuted(),
              ElementsAre("calibrate", "choose", "convert_calibration",
                          "import", "quantize", "resolve_target", "simplify"));
  const v1::Report& report = result.reports[0];
  ASSERT_EQ(report.quantized().choice().layers_size(), 1);
  EXPECT_EQ(report.quantized().choice().layers(0).chosen(), 1);
  EXPECT_EQ(report.quantization(),
            "ternary weights in 1 of 1 layers with a choice");
}

// Cycles decide, so that chips with equal needs may get different networks.
TEST_F(QuantizeJobTest, ChoosesForEachChip) {
  const JobResult result =
      Run(Request("float net", {"ternary too;sram=64", "ternary too;sram=128"},
                  {v1::COMPILE}, "", "samples=20"));
  ASSERT_TRUE(result.status.ok()) << result.status;
  const std::vector<std::string> executed = leases_->TakeExecuted();
  EXPECT_EQ(std::count(executed.begin(), executed.end(), "choose"), 2);
  // Both chose the same.
  EXPECT_EQ(std::count(executed.begin(), executed.end(), "quantize"), 1);
}

// Random samples are not judged by: what is given are the weights.
TEST_F(QuantizeJobTest, ChoosesByWeightsAloneWithoutSamples) {
  v1::CreateJobRequest request =
      Request("float net", {"ternary too;dwarf"}, {v1::QUANTIZE}, "", "");
  ASSERT_TRUE(Run(request).status.ok());
  EXPECT_THAT(leases_->TakeExecuted(), Contains("choose"));
}

// Whatever the chip: whether the network keeps it is to be told.
TEST_F(QuantizeJobTest, ABudgetIsJudgedOnEveryChip) {
  v1::CreateJobRequest request =
      Request("float net", {"conv;sram=64"}, {v1::COMPILE}, "", "samples=20");
  request.mutable_options()->mutable_quantization()->set_accuracy_budget_ppm(
      10'000);
  ASSERT_TRUE(Run(request).status.ok());
  EXPECT_THAT(leases_->TakeExecuted(), Contains("choose"));
}

// The plain compile of the same network must not pay for a ranking, and finds
// everything before it.
TEST_F(QuantizeJobTest, SharesCalibrationWithOtherGoals) {
  ASSERT_TRUE(Run(Request("float net", {"conv;sram=64"}, {v1::QUANTIZE}, "",
                          "samples=20"))
                  .status.ok());
  leases_->TakeExecuted();
  ASSERT_TRUE(Run(Request("float net", {"conv;sram=64"}, {v1::COMPILE}, "",
                          "samples=20"))
                  .status.ok());
  EXPECT_THAT(leases_->TakeExecuted(),
              ElementsAre("bundle", "check_fit", "count_cycles", "emit",
                          "partition", "quantize", "set_io", "tile"));
}

}  // namespace
}  // namespace edgekiln::server
