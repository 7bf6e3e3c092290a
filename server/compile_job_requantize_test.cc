// Models that came quantized on targets that take them only once they are
// quantized anew: which stages that takes, and what is reported.

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/convert.h"
#include "server/kept_integers.h"
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

constexpr char kShifts[] = "shifts per tensor;sram=64";
constexpr char kTakesAll[] = "conv;sram=64";

class RequantizeJobTest : public CompileJobTest {
 protected:
  // Of the only bundle.
  std::string Bundle(const JobResult& result) {
    if (result.artifacts.size() != 1) return "";
    const auto digest = FromProto(result.artifacts[0].digest());
    if (!digest.ok()) return "";
    return blobs_->Get(*digest).value_or("");
  }
};

TEST_F(RequantizeJobTest, WithoutDataTheIntegersKnowTheirRanges) {
  const JobResult result = Run(Request("int8 net", {kShifts}, {v1::COMPILE}));
  ASSERT_TRUE(result.status.ok()) << result.status;
  EXPECT_THAT(
      leases_->TakeExecuted(),
      ElementsAre("bundle", "check_fit", "check_fit", "count_cycles", "emit",
                  "import", "partition", "quantize", "resolve_target", "set_io",
                  "simplify", "synthesize_calibration", "tile", "unquantize"));
  const v1::Report& report = result.reports[0];
  EXPECT_EQ(report.calibration(), "");
  EXPECT_THAT(report.quantization(), HasSubstr("one weight scale"));
  ASSERT_THAT(
      report.warnings(),
      ElementsAre(AllOf(
          HasSubstr("quantized anew"), HasSubstr("(array needs zero points 0)"),
          HasSubstr("trial says 20 dB"), HasSubstr("requantize: OFF"),
          HasSubstr("--calibration"))));
  const std::string bundle = Bundle(result);
  EXPECT_THAT(bundle, HasSubstr("graph<unquantized simplify"));
  EXPECT_THAT(bundle, HasSubstr("statistics<ranges of integers>"));
  EXPECT_THAT(bundle, HasSubstr("source<simplify"));
  EXPECT_THAT(bundle, HasSubstr("quantized_for { per_tensor"));
  EXPECT_THAT(bundle, Not(HasSubstr("ranges:")));
}

// Without that it would be quantized and cut into tiles first: minutes.
TEST_F(RequantizeJobTest, WhatCannotFitIsRefusedBeforeItIsQuantized) {
  const JobResult result =
      Run(Request("int8 net", {"shifts per tensor;dwarf"}, {v1::COMPILE}));
  EXPECT_EQ(result.status.message(), "check_fit: cannot fit");
  EXPECT_THAT(leases_->TakeExecuted(),
              AllOf(Contains("unquantize"), Contains("check_fit").Times(2),
                    Not(Contains("quantize")), Not(Contains("tile"))));
}

TEST_F(RequantizeJobTest, CalibrationDataGiveBetterRanges) {
  const JobResult result =
      Run(Request("int8 net", {kShifts}, {v1::COMPILE}, "", "samples=20"));
  ASSERT_TRUE(result.status.ok()) << result.status;
  EXPECT_THAT(leases_->TakeExecuted(),
              AllOf(Contains("convert_calibration"), Contains("calibrate")));
  const v1::Report& report = result.reports[0];
  EXPECT_EQ(report.calibration(), "DATA");
  ASSERT_THAT(report.warnings(), ElementsAre(HasSubstr("data says 20 dB")));
  EXPECT_THAT(report.warnings(0), Not(HasSubstr("--calibration")));
  EXPECT_THAT(Bundle(result),
              AllOf(HasSubstr("statistics<statistics>"),
                    HasSubstr("chunk<chunk samples="), HasSubstr("DATA")));
}

TEST_F(RequantizeJobTest, WhatOnlyRoundsOtherwiseKeepsItsIntegers) {
  v1::CreateJobRequest request =
      Request("int8 net that rounds to even", {kShifts}, {v1::COMPILE}, "",
              "samples=20");
  const JobResult kept = Run(request);
  ASSERT_TRUE(kept.status.ok()) << kept.status;
  EXPECT_EQ(kept.reports[0].calibration(), "");
  EXPECT_THAT(
      kept.reports[0].warnings(),
      ElementsAre(AllOf(
          HasSubstr("(array needs zero points 0)"), HasSubstr(kIntegersKept),
          HasSubstr("data says 20 dB"), HasSubstr("keeps its rounding"),
          Not(HasSubstr("quantized anew")), Not(HasSubstr("--calibration")))));
  EXPECT_THAT(Bundle(kept), Not(HasSubstr("ranges:")));
  // Who asks for other integers gets them.
  request.mutable_options()->mutable_quantization()->set_requantize(v1::ON);
  const JobResult anew = Run(request);
  ASSERT_TRUE(anew.status.ok()) << anew.status;
  EXPECT_EQ(anew.reports[0].calibration(), "DATA");
  EXPECT_THAT(anew.reports[0].warnings(),
              ElementsAre(AllOf(HasSubstr("as the quantization file says"),
                                Not(HasSubstr(kIntegersKept)))));
}

TEST_F(RequantizeJobTest, WhereTheyDoNotRandomInputsGiveThem) {
  const JobResult result =
      Run(Request("int8 net of float islands", {kShifts}, {v1::COMPILE}));
  ASSERT_TRUE(result.status.ok()) << result.status;
  EXPECT_EQ(result.reports[0].calibration(), "SYNTHETIC");
  EXPECT_THAT(result.reports[0].warnings(), ElementsAre(HasSubstr("a guess")));
  EXPECT_THAT(Bundle(result), HasSubstr("statistics<statistics>"));
}

TEST_F(RequantizeJobTest, TargetsThatTakeTheIntegersKeepThem) {
  // Both need nothing of numerics that the other does not.
  const JobResult result = Run(Request(
      "int8 net", {kTakesAll, "shifts;sram=64"}, {v1::PROFILE, v1::COMPILE}));
  ASSERT_TRUE(result.status.ok()) << result.status;
  EXPECT_THAT(result.reports[0].warnings(), IsEmpty());
  EXPECT_THAT(result.reports[0].quantization(), "");
  EXPECT_THAT(result.reports[1].warnings(),
              ElementsAre(HasSubstr("quantized anew")));
  const auto graphs = leases_->GraphsRead();
  int exact = 0;
  int anew = 0;
  for (auto [at, end] = graphs.equal_range("partition"); at != end; ++at) {
    exact += absl::StartsWith(at->second, "set_io graph<simplify") ? 1 : 0;
    anew += absl::StartsWith(at->second, "set_io graph<quantize") ? 1 : 0;
  }
  EXPECT_EQ(exact, 1);
  EXPECT_EQ(anew, 1);
}

TEST_F(RequantizeJobTest, TargetsWithEqualNeedsShareEverything) {
  const JobResult result =
      Run(Request("int8 net", {kShifts, "shifts per tensor too;sram=65"},
                  {v1::COMPILE}, "", "samples=20"));
  ASSERT_TRUE(result.status.ok()) << result.status;
  const std::vector<std::string> executed = leases_->TakeExecuted();
  for (const char* once : {"calibrate", "convert_calibration", "quantize"}) {
    EXPECT_THAT(executed, Contains(once).Times(1));
  }
  EXPECT_THAT(executed, Contains("unquantize").Times(2));
}

// A validation measures the chip against the model as it came.
TEST_F(RequantizeJobTest, AccuracyIsComparedWithTheModelAsItCame) {
  const JobResult result = Run(
      Request("int8 net", {kShifts}, {v1::VALIDATE}, "samples=20 labelled=20"));
  ASSERT_TRUE(result.status.ok()) << result.status;
  EXPECT_THAT(leases_->TakeExecuted(),
              AllOf(Contains("convert_reference"), Contains("convert_data"),
                    Contains("interpret[0]")));
  const v1::Report::Accuracy& accuracy = result.reports[0].accuracy();
  EXPECT_EQ(accuracy.reference(), v1::Report::Accuracy::SOURCE_INT8);
  EXPECT_EQ(accuracy.samples(), 20);
  // The fake chip gets one answer of each chunk wrong, the reference none.
  EXPECT_LT(accuracy.value(), accuracy.reference_value());
  EXPECT_GT(accuracy.disagreement().count(), 0);
  const auto graphs = leases_->GraphsRead();
  for (auto [at, end] = graphs.equal_range("interpret[0]"); at != end; ++at) {
    EXPECT_TRUE(absl::StartsWith(at->second, "simplify")) << at->second;
  }
}

TEST_F(RequantizeJobTest, TheFileKeepsTheIntegers) {
  v1::CreateJobRequest request = Request("int8 net", {kShifts}, {v1::COMPILE});
  request.mutable_options()->mutable_quantization()->set_requantize(v1::OFF);
  const JobResult result = Run(request);
  ASSERT_TRUE(result.status.ok()) << result.status;
  EXPECT_THAT(leases_->TakeExecuted(), Not(Contains("unquantize")));
  EXPECT_THAT(result.reports[0].warnings(), IsEmpty());
  EXPECT_THAT(Bundle(result), Not(HasSubstr("quantized_for")));
}

TEST_F(RequantizeJobTest, WithoutEnginesThereIsNothingToGain) {
  v1::CreateJobRequest request = Request("int8 net", {kShifts}, {v1::COMPILE});
  request.mutable_options()->set_offload(v1::NONE);
  ASSERT_TRUE(Run(request).status.ok());
  EXPECT_THAT(leases_->TakeExecuted(), Not(Contains("unquantize")));
}

TEST_F(RequantizeJobTest, TheFileForcesIt) {
  for (const bool with_target : {true, false}) {
    v1::CreateJobRequest request =
        Request("int8 net",
                with_target ? std::vector<std::string>{kTakesAll}
                            : std::vector<std::string>{},
                {v1::QUANTIZE}, "", "samples=20");
    request.mutable_options()->mutable_quantization()->set_requantize(v1::ON);
    const JobResult result = Run(request);
    ASSERT_TRUE(result.status.ok()) << result.status;
    const v1::Report& report = result.reports[0];
    EXPECT_THAT(report.warnings(),
                ElementsAre(HasSubstr("as the quantization file says")));
    EXPECT_EQ(report.quantized().layers_size(), 1);
    EXPECT_EQ(report.quantized().requantized(), "array needs zero points 0");
  }
  // Whether a target is there makes no difference to it.
  EXPECT_THAT(leases_->TakeExecuted(), Contains("unquantize").Times(1));
}

TEST_F(RequantizeJobTest, AFileThatChangesNothingIsToldOf) {
  v1::CreateJobRequest request =
      Request("int8 net", {kTakesAll}, {v1::COMPILE});
  request.mutable_options()->mutable_quantization()->set_samples(7);
  EXPECT_THAT(Run(request).reports[0].warnings(),
              ElementsAre(HasSubstr("is not used")));
  request.mutable_options()->clear_quantization();
  request.mutable_options()->mutable_calibrate()->set_method(
      v1::CalibrateOptions::KL);
  EXPECT_THAT(Run(request).reports[0].warnings(),
              ElementsAre(HasSubstr("is not used")));
  // A float model uses it.
  request = Request("float net", {kTakesAll}, {v1::COMPILE}, "", "samples=20");
  request.mutable_options()->mutable_quantization()->set_samples(7);
  EXPECT_THAT(Run(request).reports[0].warnings(), IsEmpty());
}

// What was checked is not what is compiled.
TEST_F(RequantizeJobTest, TheIntegersNeedNotFit) {
  EXPECT_TRUE(
      Run(Request("int8 net", {"shifts;dwarf for integers"}, {v1::COMPILE}))
          .status.ok());
  EXPECT_FALSE(
      Run(Request("int8 net", {"conv;dwarf for integers"}, {v1::COMPILE}))
          .status.ok());
}

}  // namespace
}  // namespace edgekiln::server
