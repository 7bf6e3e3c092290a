// Targets that run C code: which stages that takes, and what is reported.

#include <string>

#include "base/error.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
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

constexpr char kCore[] = "none;runs C";
constexpr char kUnsimulated[] = "none;runs C, nobody simulates";

class FirmwareJobTest : public CompileJobTest {};

TEST_F(FirmwareJobTest, IsBuiltAndRunsOnTheFirstSample) {
  const JobResult result = Run(Request("int8 net", {kCore}, {v1::PROFILE}));
  ASSERT_TRUE(result.status.ok()) << result.status;
  EXPECT_THAT(leases_->TakeExecuted(),
              AllOf(Contains("emit_c"), Contains("build_firmware"),
                    Contains("count_cycles"), Contains("simulate[0]"),
                    Not(Contains("check_fit")), Not(Contains("tile"))));
  const v1::Report& report = result.reports[0];
  EXPECT_EQ(report.totals().instructions(), 2);
  EXPECT_EQ(report.totals().setup_instructions(), 3);
  EXPECT_EQ(report.totals().cycles_min(), 100);
  EXPECT_EQ(report.totals().cycles_max(), 200);
  EXPECT_EQ(report.totals().cycles(), 200);
  EXPECT_EQ(report.totals().cycles_other_io(), 230);
  EXPECT_EQ(report.memory().sections().text_bytes(), 5);
  EXPECT_EQ(report.compiler().program(), "riscv64-unknown-elf-gcc");
  EXPECT_EQ(report.compiler().version(), "12");
  EXPECT_TRUE(report.has_bit_exact());
  EXPECT_THAT(report.warnings(), IsEmpty());
}

TEST_F(FirmwareJobTest, InspectingPlacesNoLayers) {
  const JobResult result = Run(Request("int8 net", {kCore}, {v1::INSPECT}));
  ASSERT_TRUE(result.status.ok()) << result.status;
  ASSERT_EQ(result.description.layers_size(), 1);
  EXPECT_EQ(result.description.layers(0).id(), "conv1");
}

TEST_F(FirmwareJobTest, CyclesAloneNeedNoSample) {
  v1::CreateJobRequest request = Request("int8 net", {kCore}, {v1::PROFILE});
  request.mutable_options()->set_timing_only(true);
  const JobResult result = Run(request);
  ASSERT_TRUE(result.status.ok()) << result.status;
  EXPECT_EQ(result.reports[0].totals().instructions(), 1);
  EXPECT_THAT(leases_->TakeExecuted(), Not(Contains("simulate[0]")));
}

TEST_F(FirmwareJobTest, WithoutACompilerThereAreEstimates) {
  v1::CreateJobRequest request =
      Request("int8 net", {kCore}, {v1::PROFILE, v1::COMPILE});
  request.mutable_options()->set_compiler(v1::NO_COMPILER);
  const JobResult result = Run(request);
  ASSERT_TRUE(result.status.ok()) << result.status;
  EXPECT_THAT(
      leases_->TakeExecuted(),
      AllOf(Contains("emit_c"), Contains("bundle"),
            Not(Contains("build_firmware")), Not(Contains("count_cycles"))));
  const v1::Report& report = result.reports[0];
  EXPECT_EQ(report.totals().cycles(), 23);
  EXPECT_EQ(report.totals().fidelity(), v1::ESTIMATE);
  EXPECT_FALSE(report.has_bit_exact());
  EXPECT_THAT(report.warnings(), ElementsAre(HasSubstr("no compiler")));
}

TEST_F(FirmwareJobTest, WhatNothingSimulatesHasTheReferencesAccuracy) {
  const JobResult result = Run(Request("int8 net", {kUnsimulated},
                                       {v1::VALIDATE}, "samples=4 labelled=4"));
  ASSERT_TRUE(result.status.ok()) << result.status;
  EXPECT_THAT(leases_->TakeExecuted(),
              AllOf(Contains("build_firmware"), Contains("interpret[0]"),
                    Not(Contains("simulate[0]"))));
  const v1::Report& report = result.reports[0];
  EXPECT_EQ(report.accuracy().value(), 1);
  EXPECT_FALSE(report.has_bit_exact());
  EXPECT_EQ(report.totals().fidelity(), v1::ESTIMATE);
  EXPECT_EQ(report.memory().flash_bytes(), 9);
  EXPECT_THAT(report.warnings(),
              ElementsAre(AllOf(HasSubstr("nothing simulates core"),
                                HasSubstr("reference interpreter's"))));
}

TEST_F(FirmwareJobTest, WhatTheCompilerFindsTooLargeGetsSmallerKernels) {
  const JobResult result =
      Run(Request("int8 net", {"none;runs C, small flash"}, {v1::COMPILE}));
  ASSERT_TRUE(result.status.ok()) << result.status;
  EXPECT_THAT(leases_->TakeExecuted(), Contains("build_firmware").Times(4));
  EXPECT_THAT(result.reports[0].warnings(),
              ElementsAre(AllOf(HasSubstr("900 bytes"), HasSubstr("size"))));

  v1::CreateJobRequest tiny =
      Request("int8 net", {"none;runs C, tiny flash"}, {v1::COMPILE});
  const JobResult refused = Run(tiny);
  EXPECT_THAT(std::string(refused.status.message()), HasSubstr("500 bytes"));
  EXPECT_THAT(leases_->TakeExecuted(), Contains("build_firmware").Times(5));
}

// They are chosen again, with what was refused, before smaller recipes are.
TEST_F(FirmwareJobTest, WhatTheCompilerFindsALittleTooLargeIsChosenAgain) {
  const JobResult result =
      Run(Request("int8 net", {"none;runs C, medium flash"}, {v1::COMPILE}));
  ASSERT_TRUE(result.status.ok()) << result.status;
  EXPECT_THAT(
      leases_->TakeExecuted(),
      AllOf(Contains("emit_c").Times(2), Contains("build_firmware").Times(2)));
  EXPECT_THAT(
      result.reports[0].warnings(),
      ElementsAre(AllOf(HasSubstr("900 bytes"), Not(HasSubstr("recipe")))));
}

TEST_F(FirmwareJobTest, ATargetWithoutCSaysThatItNeedsNoCompiler) {
  v1::CreateJobRequest request =
      Request("int8 net", {"conv;sram=64"}, {v1::PROFILE});
  request.mutable_options()->set_compiler(v1::GCC);
  const JobResult result = Run(request);
  ASSERT_TRUE(result.status.ok()) << result.status;
  EXPECT_THAT(result.reports[0].warnings(),
              ElementsAre(HasSubstr("compiler is not used")));
}

// Samples are simulated as without hot spots, so that nothing of theirs is
// computed again.
TEST_F(FirmwareJobTest, HotSpotsTakeABuildWithLinesAndARunOfTheFirstSample) {
  v1::CreateJobRequest request = Request("int8 net", {kCore}, {v1::PROFILE});
  const JobResult plain = Run(request);
  ASSERT_TRUE(plain.status.ok()) << plain.status;
  EXPECT_FALSE(plain.reports[0].has_hot_spots());
  leases_->TakeExecuted();
  request.mutable_options()->set_hot_spots(true);
  const JobResult result = Run(request);
  ASSERT_TRUE(result.status.ok()) << result.status;
  EXPECT_THAT(leases_->TakeExecuted(),
              UnorderedElementsAre("build_firmware", "count_cycles"));
  const v1::Report& report = result.reports[0];
  EXPECT_EQ(report.hot_spots().instructions(), 2);
  EXPECT_EQ(report.totals().instructions(), 2);
  EXPECT_EQ(report.program().hash(), plain.reports[0].program().hash());
  // And the other way round.
  request.mutable_options()->set_hot_spots(false);
  ASSERT_TRUE(Run(request).status.ok());
  EXPECT_THAT(leases_->TakeExecuted(), IsEmpty());
}

TEST_F(FirmwareJobTest, HotSpotsAreRefusedWhereNothingRuns) {
  for (const char* target : {kUnsimulated, "conv;sram=64"}) {
    v1::CreateJobRequest request = Request("int8 net", {target}, {v1::PROFILE});
    request.mutable_options()->set_hot_spots(true);
    const JobResult result = Run(request);
    const auto detail = GetErrorDetail(result.status);
    ASSERT_TRUE(detail.has_value()) << target;
    EXPECT_EQ(detail->reason, "HOT_SPOTS_UNAVAILABLE") << target;
    EXPECT_THAT(detail->fix, HasSubstr("--hot")) << target;
    EXPECT_THAT(leases_->TakeExecuted(), Not(Contains("emit_c"))) << target;
  }
}

// Which compiler it will be is not known until a worker has come: what it makes
// is nobody else's.
TEST_F(FirmwareJobTest, WhatAnUnknownCompilerMadeIsNotStored) {
  const v1::CreateJobRequest request =
      Request("int8 net", {kCore}, {v1::PROFILE});
  leases_->HideCompilers();
  ASSERT_TRUE(Run(request).status.ok());
  leases_->TakeExecuted();
  ASSERT_TRUE(Run(request).status.ok());
  EXPECT_THAT(leases_->TakeExecuted(), ElementsAre("build_firmware"));
}

}  // namespace
}  // namespace edgekiln::server
