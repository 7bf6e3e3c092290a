// Jobs of several targets: what each has of its own, and who is told of it.

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/mutex.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/stage_results.h"
#include "server/testing/compile_job_fixture.h"

namespace edgekiln::server {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;

TEST_F(CompileJobTest, AFailedTargetDoesNotStopTheOthers) {
  const JobResult result = Run(Request(
      "int8 net", {"conv;tiny", "conv;sram=64"}, {v1::COMPILE, v1::PROFILE}));
  ASSERT_FALSE(result.status.ok());
  EXPECT_EQ(GetErrorDetail(result.status)->reason, "FAKE_ERROR");
  EXPECT_EQ(result.status.message(), "tile: does not fit");
  ASSERT_EQ(result.reports.size(), 2u);
  EXPECT_EQ(result.reports[0].error().fault(), v1::ErrorDetail::USER);
  EXPECT_FALSE(result.reports[1].has_error());
  EXPECT_EQ(result.reports[1].totals().cycles(), 200);
  ASSERT_EQ(result.artifacts.size(), 1u);
  EXPECT_EQ(result.artifacts[0].path(), "manifest.json");
  EXPECT_EQ(result.artifacts[0].target(), 1);
}

TEST_F(CompileJobTest, WhatCannotFitIsRefusedBeforeItIsCalibrated) {
  const v1::CreateJobRequest request =
      Request("float net", {"conv;dwarf"}, {v1::COMPILE, v1::VALIDATE},
              "samples=40 labelled=40", "samples=20");
  const JobResult result = Run(request);
  EXPECT_EQ(result.status.message(), "check_fit: cannot fit");
  ASSERT_EQ(result.reports.size(), 1u);
  EXPECT_EQ(result.reports[0].error().fault(), v1::ErrorDetail::USER);
  EXPECT_THAT(leases_->TakeExecuted(),
              ElementsAre("check_fit", "convert_calibration", "import",
                          "resolve_target", "simplify"));
  EXPECT_EQ(Run(request).status.message(), "check_fit: cannot fit");
  EXPECT_THAT(leases_->TakeExecuted(), IsEmpty());
}

// What the refused job has started ends with it.
TEST_F(CompileJobTest, ARefusalDoesNotWaitForTheDataOfCalibration) {
  leases_->Block("synthesize_calibration");
  EXPECT_EQ(
      Run(Request("float net", {"conv;dwarf"}, {v1::PROFILE})).status.message(),
      "check_fit: cannot fit");
  EXPECT_FALSE(leases_->Blocks());
}

TEST_F(CompileJobTest, OtherTargetsGoOnWhenOneCannotFit) {
  const JobResult result = Run(Request(
      "float net", {"conv;dwarf", "none", "conv;sram=64"}, {v1::PROFILE}));
  ASSERT_EQ(result.reports.size(), 3u);
  EXPECT_EQ(result.status.message(), "check_fit: cannot fit");
  EXPECT_EQ(result.reports[0].error().message(), "check_fit: cannot fit");
  EXPECT_EQ(result.reports[1].error().message(),
            "resolve_target: not a target");
  EXPECT_FALSE(result.reports[2].has_error());
  EXPECT_EQ(result.reports[2].totals().cycles(), 200);
  EXPECT_THAT(leases_->TakeExecuted(), Contains("partition").Times(1));
}

// It saves time; nothing depends on it.
TEST_F(CompileJobTest, ACheckThatFailsOnOurSideRefusesNothing) {
  const JobResult result =
      Run(Request("int8 net", {"conv;sram=64 unchecked"}, {v1::PROFILE}));
  EXPECT_TRUE(result.status.ok()) << result.status;
  EXPECT_EQ(result.reports[0].totals().cycles(), 200);
}

TEST_F(CompileJobTest, InspectTellsWhatCannotFit) {
  const JobResult result =
      Run(Request("int8 net", {"conv;dwarf"}, {v1::INSPECT}));
  ASSERT_TRUE(result.status.ok()) << result.status;
  ASSERT_EQ(result.description.problems_size(), 1);
  EXPECT_EQ(result.description.problems(0).message(), "check_fit: cannot fit");
}

TEST_F(CompileJobTest, UserErrorsAreRemembered) {
  const v1::CreateJobRequest request =
      Request("bad net", {"conv;sram=64"}, {v1::COMPILE});
  EXPECT_EQ(Run(request).status.message(), "import: bad model");
  leases_->TakeExecuted();
  EXPECT_EQ(Run(request).status.message(), "import: bad model");
  EXPECT_THAT(leases_->TakeExecuted(), IsEmpty());
}

TEST_F(CompileJobTest, TargetsShareWhatTheyCan) {
  const JobResult result =
      Run(Request("int8 net", {"conv;sram=64", "conv;sram=32"}, {v1::PROFILE}));
  ASSERT_TRUE(result.status.ok()) << result.status;
  int partitions = 0;
  for (const std::string& stage : leases_->TakeExecuted()) {
    if (stage == "partition") ++partitions;
  }
  EXPECT_EQ(partitions, 1);
  EXPECT_EQ(result.reports[0].stages_size(), 13);
  EXPECT_EQ(result.reports[1].stages_size(), 13);
}

// How often each was executed.
std::map<std::string, int> Counts(const std::vector<std::string>& stages) {
  std::map<std::string, int> counts;
  for (const std::string& stage : stages) ++counts[stage];
  return counts;
}

TEST_F(CompileJobTest, TargetsShareTheQuantizedModelWhereNumericsAreTheSame) {
  const JobResult result =
      Run(Request("float net",
                  {"conv;sram=64", "per tensor;sram=64", "matrix;sram=64",
                   "per tensor matrix;sram=64"},
                  {v1::VALIDATE}, "samples=20 labelled=20", "samples=20"));
  ASSERT_TRUE(result.status.ok()) << result.status;
  std::map<std::string, int> executed = Counts(leases_->TakeExecuted());
  for (const char* stage :
       {"simplify", "convert_calibration", "calibrate", "convert_reference"}) {
    EXPECT_EQ(executed[stage], 1) << stage;
  }
  for (const char* stage : {"quantize", "set_io", "convert_data"}) {
    EXPECT_EQ(executed[stage], 2) << stage;
  }
  EXPECT_EQ(executed["partition"], 4);
  // Each target was handed its own form, and tells of it.
  std::map<bool, int> partitioned;
  for (const auto& [stage, graph] : leases_->GraphsRead()) {
    if (stage == "partition") ++partitioned[absl::StrContains(graph, "conv2d")];
  }
  EXPECT_EQ(partitioned, (std::map<bool, int>{{false, 2}, {true, 2}}));
  ASSERT_EQ(result.reports.size(), 4u);
  for (size_t i = 0; i < 4; ++i) {
    const v1::Report& report = result.reports[i];
    EXPECT_EQ(report.quantization(),
              i % 2 == 0 ? "" : "one weight scale per layer in conv2d");
    EXPECT_EQ(CacheOf(report).count("quantize"), 1u);
    EXPECT_EQ(report.accuracy().samples(), 20);
  }
  // A chip without needs finds what one with other capabilities left, and one
  // that needs something else the calibration.
  const auto misses = [&](const std::string& target) {
    Run(Request("float net", {target}, {v1::PROFILE}, "samples=20 labelled=20",
                "samples=20"));
    std::map<std::string, int> counts = Counts(leases_->TakeExecuted());
    return std::vector<int>{counts["calibrate"], counts["quantize"]};
  };
  EXPECT_THAT(misses("vector;sram=64"), ElementsAre(0, 0));
  EXPECT_THAT(misses("per tensor vector;sram=64"), ElementsAre(0, 0));
}

TEST_F(CompileJobTest, AModelThatCameQuantizedStaysAsItIs) {
  const JobResult result = Run(Request(
      "int8 net", {"conv;sram=64", "per tensor;sram=64"}, {v1::PROFILE}));
  ASSERT_TRUE(result.status.ok()) << result.status;
  const std::map<std::string, int> executed = Counts(leases_->TakeExecuted());
  EXPECT_EQ(executed.count("quantize"), 0u);
  EXPECT_EQ(executed.at("set_io"), 1);
  EXPECT_EQ(result.reports[1].quantization(), "");
}

TEST_F(CompileJobTest, AFormThatCannotBeMadeFailsItsTargetsOnly) {
  const JobResult result =
      Run(Request("float unquantizable net",
                  {"per tensor;sram=64", "conv;sram=64"}, {v1::PROFILE}));
  EXPECT_EQ(result.status.message(), "quantize: no such form");
  ASSERT_EQ(result.reports.size(), 2u);
  EXPECT_EQ(result.reports[0].error().message(), "quantize: no such form");
  EXPECT_FALSE(result.reports[1].has_error());
  EXPECT_EQ(result.reports[1].totals().cycles(), 200);
  EXPECT_EQ(Counts(leases_->TakeExecuted())["synthesize_data"], 1);
}

// Cycles do not wait for the samples, and are those of the report.
TEST_F(CompileJobTest, CyclesAreToldWhileSamplesAreSimulated) {
  leases_->Block("simulate[0]");
  std::promise<v1::JobEvent::Counted> told;
  int times = 0;
  StageGroupHooks hooks;
  hooks.counted = [&](const v1::JobEvent::Counted& counted) {
    if (++times == 1) told.set_value(counted);
  };
  StageGroup group(*runner_, hooks);
  const v1::CreateJobRequest request =
      Request("int8 net", {"conv;sram=64"}, {v1::PROFILE});
  std::promise<JobResult> ended;
  StartTask(*executor_, RunCompileJob("job", request, group, *executor_),
            [&](JobResult result) { ended.set_value(std::move(result)); });
  const v1::JobEvent::Counted counted = told.get_future().get();
  EXPECT_EQ(counted.target(), 0);
  EXPECT_EQ(counted.report().job_id(), "job");
  EXPECT_EQ(counted.report().target_name(), "conv;sram=64");
  group.Cancel(absl::CancelledError("enough"));
  EXPECT_TRUE(absl::IsCancelled(ended.get_future().get().status));
  EXPECT_EQ(times, 1);
  leases_->Block("");
  const JobResult result = Run(request);
  ASSERT_TRUE(result.status.ok()) << result.status;
  EXPECT_EQ(counted.report().totals().DebugString(),
            result.reports[0].totals().DebugString());
  ASSERT_EQ(counted.report().layers_size(), result.reports[0].layers_size());
  for (int i = 0; i < counted.report().layers_size(); ++i) {
    EXPECT_EQ(counted.report().layers(i).DebugString(),
              result.reports[0].layers(i).DebugString());
  }
}

TEST_F(CompileJobTest, EachTargetTellsItsCyclesOnceAndItsOwnSamples) {
  std::vector<int> counted;
  std::map<int, int64_t> samples;
  Mutex mutex;
  StageGroupHooks hooks;
  hooks.counted = [&](const v1::JobEvent::Counted& one) {
    MutexLock lock(mutex);
    counted.push_back(one.target());
  };
  hooks.samples = [&](const v1::JobEvent::Samples& one) {
    MutexLock lock(mutex);
    samples[one.target()] = one.done();
    EXPECT_EQ(one.total(), 40);
    EXPECT_DOUBLE_EQ(one.accuracy().value(),
                     static_cast<double>(one.correct()) /
                         static_cast<double>(one.labelled()));
  };
  StageGroup group(*runner_, hooks);
  const v1::CreateJobRequest request =
      Request("int8 net", {"conv;sram=64", "conv;sram=32"}, {v1::VALIDATE},
              "samples=40 labelled=40");
  const JobResult result =
      RunToEnd(*executor_, RunCompileJob("job", request, group, *executor_));
  ASSERT_TRUE(result.status.ok()) << result.status;
  EXPECT_THAT(counted, testing::UnorderedElementsAre(0, 1));
  EXPECT_THAT(samples, testing::UnorderedElementsAre(testing::Pair(0, 40),
                                                     testing::Pair(1, 40)));
}

// Nothing that a watcher could see before the report is left to wait for.
TEST_F(CompileJobTest, WithoutSamplesTheReportAloneTellsCycles) {
  StageGroupHooks hooks;
  hooks.counted = [](const v1::JobEvent::Counted&) { ADD_FAILURE(); };
  StageGroup group(*runner_, hooks);
  v1::CreateJobRequest request =
      Request("int8 net", {"conv;sram=64"}, {v1::PROFILE});
  request.mutable_options()->set_timing_only(true);
  EXPECT_TRUE(
      RunToEnd(*executor_, RunCompileJob("job", request, group, *executor_))
          .status.ok());
}

}  // namespace
}  // namespace edgekiln::server
