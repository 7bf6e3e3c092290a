#include "server/compile_job.h"

#include <algorithm>
#include <future>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/log.h"
#include "base/mutex.h"
#include "cache/disk_blob_store.h"
#include "cache/stage_result_store.h"
#include "cache/testing/crashing_file_system.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/daemon/stages/stage_group.h"
#include "server/daemon/stages/stage_runner.h"
#include "server/daemon/stages/testing/fake_stages.h"
#include "server/executor.h"
#include "server/stage_results.h"
#include "server/task.h"
#include "server/testing/compile_job_fixture.h"
#include "server/validate_request.h"
#include "tests/support/process_threads.h"

namespace edgekiln::server {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST_F(CompileJobTest, ProfileOfAQuantizedModelRunsEachStageOnce) {
  const JobResult result =
      Run(Request("int8 net", {"conv;sram=64"}, {v1::PROFILE}));
  ASSERT_TRUE(result.status.ok()) << result.status;
  EXPECT_THAT(
      leases_->TakeExecuted(),
      ElementsAre("check_fit", "count_cycles", "emit", "import", "partition",
                  "resolve_target", "set_io", "simplify", "simulate[0]",
                  "synthesize_data", "tile", "unquantize"));
  ASSERT_EQ(result.reports.size(), 1u);
  const v1::Report& report = result.reports[0];
  EXPECT_EQ(report.totals().cycles(), 200);
  EXPECT_EQ(report.totals().macs(), 3200);
  EXPECT_DOUBLE_EQ(report.totals().latency_ms(), 0.2);
  ASSERT_EQ(report.layers_size(), 2);
  EXPECT_EQ(report.layers(0).engine(), "array");
  EXPECT_DOUBLE_EQ(report.layers(0).utilization(), 0.5);
  EXPECT_EQ(report.layers(1).engine(), "host");
  EXPECT_EQ(report.bit_exact().outputs_compared(), 160);
  EXPECT_FALSE(report.has_accuracy());
  EXPECT_EQ(report.calibration(), "");
  EXPECT_EQ(report.stages_size(), 12);
  EXPECT_EQ(report.stages(0).cache(), v1::Report::Stage::MISS);
}

TEST_F(CompileJobTest, SecondIdenticalRequestExecutesNothing) {
  const v1::CreateJobRequest request =
      Request("float net", {"conv;sram=64"}, {v1::COMPILE, v1::VALIDATE},
              "samples=40 labelled=40", "samples=20");
  const JobResult first = Run(request);
  ASSERT_TRUE(first.status.ok()) << first.status;
  EXPECT_FALSE(leases_->TakeExecuted().empty());
  const JobResult second = Run(request);
  ASSERT_TRUE(second.status.ok()) << second.status;
  EXPECT_THAT(leases_->TakeExecuted(), IsEmpty());
  v1::Report a = first.reports[0];
  v1::Report b = second.reports[0];
  for (const v1::Report::Stage& stage : b.stages()) {
    EXPECT_EQ(stage.cache(), v1::Report::Stage::HIT) << stage.name();
    EXPECT_EQ(stage.seconds(), 0) << stage.name();
  }
  ASSERT_EQ(a.stages_size(), b.stages_size());
  a.clear_stages();
  b.clear_stages();
  EXPECT_EQ(a.DebugString(), b.DebugString());
}

TEST_F(CompileJobTest, AnotherSramSizeRunsAgainFromTilingOn) {
  ASSERT_TRUE(
      Run(Request("float net", {"conv;sram=64"}, {v1::PROFILE})).status.ok());
  leases_->TakeExecuted();
  ASSERT_TRUE(
      Run(Request("float net", {"conv;sram=32"}, {v1::PROFILE})).status.ok());
  EXPECT_THAT(leases_->TakeExecuted(),
              ElementsAre("check_fit", "count_cycles", "emit", "resolve_target",
                          "simulate[0]", "tile"));
}

TEST_F(CompileJobTest, AnotherRecipeRunsAgainWhatItChanges) {
  v1::CreateJobRequest request =
      Request("float net", {"conv;sram=64"}, {v1::COMPILE, v1::PROFILE});
  const JobResult first = Run(request);
  ASSERT_TRUE(first.status.ok()) << first.status;
  EXPECT_EQ(first.reports[0].recipe(), "default");

  request.mutable_options()->set_recipe("serial");
  const JobResult serial = Run(request);
  ASSERT_TRUE(serial.status.ok()) << serial.status;
  EXPECT_EQ(serial.reports[0].recipe(), "serial");
  constexpr auto kHit = v1::Report::Stage::HIT;
  constexpr auto kMiss = v1::Report::Stage::MISS;
  EXPECT_THAT(
      CacheOf(serial.reports[0]),
      testing::UnorderedElementsAre(
          testing::Pair("resolve_target", kHit), testing::Pair("import", kHit),
          testing::Pair("simplify", kHit), testing::Pair("check_fit", kHit),
          testing::Pair("synthesize_calibration", kHit),
          testing::Pair("calibrate", kHit), testing::Pair("quantize", kHit),
          testing::Pair("set_io", kHit), testing::Pair("synthesize_data", kHit),
          testing::Pair("partition", kHit), testing::Pair("tile", kMiss),
          testing::Pair("emit", kMiss), testing::Pair("bundle", kMiss),
          testing::Pair("count_cycles", kMiss),
          testing::Pair("simulate[0]", kMiss)));

  // By its name; and one that decides the same has nothing but another name in
  // the manifest.
  request.mutable_options()->set_recipe("default");
  leases_->TakeExecuted();
  ASSERT_TRUE(Run(request).status.ok());
  EXPECT_THAT(leases_->TakeExecuted(), IsEmpty());
  request.mutable_options()->set_recipe("twin");
  ASSERT_TRUE(Run(request).status.ok());
  EXPECT_THAT(leases_->TakeExecuted(), ElementsAre("bundle"));
}

TEST_F(CompileJobTest, AnUnknownRecipeIsRefusedBeforeAnythingIsComputed) {
  v1::CreateJobRequest request =
      Request("float net", {"conv;sram=64"}, {v1::PROFILE});
  request.mutable_options()->set_recipe("seriel");
  const JobResult result = Run(request);
  const auto detail = GetErrorDetail(result.status);
  ASSERT_TRUE(detail.has_value()) << result.status;
  EXPECT_EQ(detail->fault, Fault::kUser);
  EXPECT_EQ(detail->reason, "RECIPE_UNKNOWN");
  EXPECT_EQ(detail->where, "target 'conv;sram=64'");
  EXPECT_EQ(detail->need, "one of: default, serial, twin");
  EXPECT_EQ(detail->fix, "did you mean \"serial\"?");
  ASSERT_EQ(result.reports.size(), 1u);
  EXPECT_EQ(result.reports[0].error().reason(), "RECIPE_UNKNOWN");
  EXPECT_THAT(leases_->TakeExecuted(), ElementsAre("resolve_target"));

  request.clear_goals();
  request.add_goals(v1::INSPECT);
  EXPECT_EQ(GetErrorDetail(Run(request).status)->reason, "RECIPE_UNKNOWN");
  EXPECT_THAT(leases_->TakeExecuted(), IsEmpty());
}

// Beside one that has it; what that one needs is computed all the same.
TEST_F(CompileJobTest, ATargetWithoutTheRecipeFailsAlone) {
  v1::CreateJobRequest request = Request(
      "int8 net", {"conv;sram=64", "conv;sram=64 plain"}, {v1::PROFILE});
  request.mutable_options()->set_recipe("serial");
  const JobResult result = Run(request);
  EXPECT_EQ(GetErrorDetail(result.status)->reason, "RECIPE_UNKNOWN");
  ASSERT_EQ(result.reports.size(), 2u);
  EXPECT_EQ(result.reports[0].totals().cycles(), 200);
  EXPECT_EQ(result.reports[1].error().need(), "one of: default");
  EXPECT_EQ(result.reports[1].totals().cycles(), 0);
}

TEST_F(CompileJobTest, HostileNamesOfRecipesAreUnknown) {
  v1::CreateJobRequest request =
      Request("float net", {"conv;sram=64"}, {v1::PROFILE});
  for (const std::string& recipe :
       {std::string(5000, 'a'), std::string("\x1b[31m"), std::string("a\nb"),
        std::string("Serial"), std::string("seria"), std::string("serials"),
        std::string("../x"), std::string("a\0b", 3)}) {
    request.mutable_options()->set_recipe(recipe);
    const JobResult result = Run(request);
    const auto detail = GetErrorDetail(result.status);
    ASSERT_TRUE(detail.has_value()) << result.status;
    EXPECT_EQ(detail->reason, "RECIPE_UNKNOWN");
    for (const std::string& shown :
         {detail->what, detail->fix, result.reports[0].recipe()}) {
      EXPECT_EQ(SanitizeText(shown, kMaxErrorFieldBytes), shown);
    }
  }
}

TEST_F(CompileJobTest, ARecipeIsATargets) {
  v1::CreateJobRequest request = Request("float net", {}, {v1::RUN});
  request.mutable_options()->set_recipe("serial");
  EXPECT_EQ(GetErrorDetail(ValidateRequest(request))->reason, "NO_TARGET");
}

// Jobs for one engine run what they always ran, under the same keys.
TEST_F(CompileJobTest, PlacesByCyclesWhereThereIsAChoice) {
  const struct {
    const char* target;
    v1::Offload offload;
    std::vector<std::string> executed;
    const char* told;
  } kCases[] = {
      {"conv;sram=64",
       v1::OFFLOAD_UNSPECIFIED,
       {"check_fit", "count_cycles", "emit", "import", "partition",
        "resolve_target", "set_io", "simplify", "tile", "unquantize"},
       "all"},
      {"conv;sram=64", v1::ALL, {}, "all"},
      // The partition is the same.
      {"conv;sram=64",
       v1::PAYING,
       {"check_fit", "count_cycles", "emit", "place", "tile"},
       "paying"},
      {"conv;sram=64", v1::NONE, {"check_fit", "partition"}, "none"},
      {"two engines;sram=64",
       v1::ALL,
       {"check_fit", "count_cycles", "emit", "partition", "place",
        "resolve_target", "tile", "unquantize"},
       "all"},
      {"two engines;sram=64", v1::PAYING, {"check_fit", "place"}, "paying"},
  };
  for (const auto& row : kCases) {
    SCOPED_TRACE(absl::StrCat(row.target, " ", row.told));
    v1::CreateJobRequest request =
        Request("int8 net", {row.target}, {v1::PROFILE});
    request.mutable_options()->set_timing_only(true);
    request.mutable_options()->set_offload(row.offload);
    const JobResult result = Run(request);
    ASSERT_TRUE(result.status.ok()) << result.status;
    EXPECT_EQ(result.reports[0].offload(), row.told);
    EXPECT_THAT(leases_->TakeExecuted(),
                testing::ElementsAreArray(row.executed));
  }
}

TEST_F(CompileJobTest, FloatModelIsMeasuredAgainstItself) {
  const JobResult result =
      Run(Request("float net", {"conv;sram=64"}, {v1::VALIDATE},
                  "samples=40 labelled=40", "samples=20"));
  ASSERT_TRUE(result.status.ok()) << result.status;
  EXPECT_THAT(leases_->TakeExecuted(),
              ElementsAre("calibrate", "check_fit", "convert_calibration",
                          "convert_data", "convert_reference", "count_cycles",
                          "emit", "import", "interpret[0]", "interpret[1]",
                          "interpret[2]", "partition", "quantize",
                          "resolve_target", "set_io", "simplify", "simulate[0]",
                          "simulate[1]", "simulate[2]", "tile"));
  const v1::Report& report = result.reports[0];
  EXPECT_EQ(report.calibration(), "DATA");
  EXPECT_EQ(report.accuracy().reference(), v1::Report::Accuracy::FLOAT);
  EXPECT_EQ(report.accuracy().samples(), 40);
  EXPECT_DOUBLE_EQ(report.accuracy().value(), 37.0 / 40);
  EXPECT_DOUBLE_EQ(report.accuracy().reference_value(), 1);
}

// What is calibrated and quantized is its float32 form; the reference is the
// model as it came.
TEST_F(CompileJobTest, AModelInOtherFloatsIsQuantizedFromItsFloat32Form) {
  const JobResult result =
      Run(Request("half net", {"conv;sram=64"}, {v1::INSPECT, v1::VALIDATE},
                  "samples=40 labelled=40", "samples=20"));
  ASSERT_TRUE(result.status.ok()) << result.status;
  const std::string import = "imported model<half net>";
  const std::string simplified = absl::StrCat("simplify graph<", import, ">");
  const std::string float32 = absl::StrCat("float32 graph<", import, ">");
  for (const auto& [stage, graph] : leases_->GraphsRead()) {
    if (stage == "simplify") continue;
    const bool reference =
        stage == "convert_reference" || absl::StartsWith(stage, "interpret");
    EXPECT_EQ(absl::StrContains(graph, simplified), reference) << stage;
    EXPECT_EQ(absl::StrContains(graph, float32), !reference) << stage;
  }
  EXPECT_EQ(result.reports[0].accuracy().reference(),
            v1::Report::Accuracy::FLOAT);
  ASSERT_EQ(result.description.warnings_size(), 1);
  EXPECT_THAT(result.description.warnings(0), HasSubstr("float32"));
  EXPECT_THAT(result.reports[0].warnings(), IsEmpty());
}

TEST_F(CompileJobTest, CalibrationDataThatIsNotUsedIsSaid) {
  const struct {
    const char* model;
    std::vector<std::string> targets;
    v1::JobGoal goal;
    const char* why;  // "" if it is used.
  } kCases[] = {
      {"int8 net", {"conv;sram=64"}, v1::COMPILE, "came quantized"},
      {"int8 net", {"conv;sram=64"}, v1::VALIDATE, "came quantized"},
      {"int8 net", {}, v1::RUN, "without a target"},
      {"float net", {}, v1::RUN, "without a target"},
      {"float net", {"conv;sram=64"}, v1::RUN, ""},
      {"float net", {"conv;sram=64"}, v1::PROFILE, ""},
      {"half net", {"conv;sram=64"}, v1::COMPILE, ""},
      {"bad net", {"conv;sram=64"}, v1::COMPILE, ""},  // The error says enough.
  };
  for (const auto& test : kCases) {
    const JobResult result =
        Run(Request(test.model, test.targets, {test.goal},
                    "samples=40 labelled=40", "samples=20"));
    ASSERT_EQ(result.reports.size(), 1u) << test.model;
    const auto& warnings = result.reports[0].warnings();
    if (*test.why == '\0') {
      EXPECT_THAT(warnings, IsEmpty()) << test.model;
    } else {
      EXPECT_THAT(warnings,
                  ElementsAre(AllOf(HasSubstr("calibration data is not used"),
                                    HasSubstr(test.why))))
          << test.model;
    }
  }
}

// Every chunk says it; the report says it once, as what other stages say.
TEST_F(CompileJobTest, WarningsOfAllStagesReachTheReport) {
  const JobResult result =
      Run(Request("float net", {"conv;sram=64 warns", "conv;sram=64"},
                  {v1::VALIDATE}, "samples=40 labelled=40", "samples=20"));
  ASSERT_TRUE(result.status.ok()) << result.status;
  ASSERT_EQ(result.reports.size(), 2u);
  EXPECT_THAT(result.reports[0].warnings(),
              ElementsAre("tiles are thin", "not all was compared"));
  EXPECT_EQ(result.reports[1].warnings_size(), 0);
}

// A stage beside the one that failed may or may not have ended by then.
TEST_F(CompileJobTest, WarningsOfAFailedTargetAreTheSameInEveryRun) {
  const v1::CreateJobRequest request = Request(
      "int8 net that warns", {"conv;tiny"}, {v1::PROFILE}, "samples=40 warns");
  leases_->Block("convert_data");
  const JobResult slow = Run(request);
  leases_->Block("");
  const JobResult fast = Run(request);
  for (const JobResult& result : {slow, fast}) {
    EXPECT_FALSE(result.status.ok());
    ASSERT_EQ(result.reports.size(), 1u);
    EXPECT_THAT(result.reports[0].warnings(), ElementsAre("N is taken for 1"));
  }
  // Where the data was needed, what it warned of is said.
  const JobResult result = Run(Request("int8 net", {"conv;tiny", "conv;sram=1"},
                                       {v1::PROFILE}, "samples=40 warns"));
  ASSERT_EQ(result.reports.size(), 2u);
  EXPECT_THAT(result.reports[1].warnings(), ElementsAre("pixels are dark"));
}

TEST_F(CompileJobTest, WarningsOfTheModelReachTheReportAndTheDescription) {
  const JobResult result = Run(Request("int8 net that warns", {"conv;sram=64"},
                                       {v1::INSPECT, v1::PROFILE}));
  ASSERT_TRUE(result.status.ok()) << result.status;
  EXPECT_THAT(result.reports[0].warnings(), ElementsAre("N is taken for 1"));
  EXPECT_THAT(result.description.warnings(), ElementsAre("N is taken for 1"));
}

TEST_F(CompileJobTest, TimingOnlyComputesNothing) {
  v1::CreateJobRequest request =
      Request("int8 net", {"conv;sram=64"}, {v1::PROFILE});
  request.mutable_options()->set_timing_only(true);
  const JobResult result = Run(request);
  ASSERT_TRUE(result.status.ok()) << result.status;
  EXPECT_THAT(leases_->TakeExecuted(),
              ElementsAre("check_fit", "count_cycles", "emit", "import",
                          "partition", "resolve_target", "set_io", "simplify",
                          "tile", "unquantize"));
  EXPECT_EQ(result.reports[0].totals().cycles(), 200);
  EXPECT_FALSE(result.reports[0].has_bit_exact());
}

TEST_F(CompileJobTest, ReportsCyclesOfBothFormsOfInputsAndOutputs) {
  v1::CreateJobRequest request =
      Request("int8 net", {"conv;sram=64"}, {v1::PROFILE});
  const v1::Report::Totals integer = Run(request).reports[0].totals();
  EXPECT_EQ(integer.io(), v1::IO_INTEGER);
  EXPECT_EQ(integer.cycles(), 200);
  EXPECT_EQ(integer.cycles_other_io(), 230);
  leases_->TakeExecuted();
  request.mutable_options()->set_io(v1::IO_INTEGER);
  Run(request);
  EXPECT_THAT(leases_->TakeExecuted(), IsEmpty()) << "it is the default";
  request.mutable_options()->set_io(v1::IO_FLOAT);
  const v1::Report::Totals with_floats = Run(request).reports[0].totals();
  EXPECT_EQ(with_floats.io(), v1::IO_FLOAT);
  EXPECT_EQ(with_floats.cycles(), 200);
  EXPECT_EQ(with_floats.cycles_other_io(), 170);
  const std::vector<std::string> executed = leases_->TakeExecuted();
  EXPECT_THAT(executed, testing::Contains("set_io"));
  EXPECT_THAT(executed, testing::Not(testing::Contains("simplify")));
}

TEST_F(CompileJobTest, ANameIsSetBehindWhatIsCommon) {
  v1::CreateJobRequest request =
      Request("int8 net", {"conv;sram=64"}, {v1::COMPILE});
  Run(request);
  leases_->TakeExecuted();
  request.mutable_options()->set_name("kws");
  Run(request);
  EXPECT_THAT(leases_->TakeExecuted(), ElementsAre("set_io"));
  Run(request);
  EXPECT_THAT(leases_->TakeExecuted(), IsEmpty());
}

// The chunks for the chip are not converted a second time.
TEST_F(CompileJobTest, AQuantizedModelIsMeasuredOnTheSameChunks) {
  const JobResult result = Run(Request("int8 net", {"conv;sram=64"},
                                       {v1::VALIDATE}, "samples=4 labelled=4"));
  ASSERT_TRUE(result.status.ok()) << result.status;
  EXPECT_THAT(
      leases_->TakeExecuted(),
      ElementsAre("check_fit", "convert_data", "count_cycles", "emit", "import",
                  "interpret[0]", "partition", "resolve_target", "set_io",
                  "simplify", "simulate[0]", "tile", "unquantize"));
  EXPECT_EQ(result.reports[0].accuracy().reference(),
            v1::Report::Accuracy::SOURCE_INT8);
}

// The reference of a chunk is computed once: for its accuracy and for all
// chips that are compared with it.
TEST_F(CompileJobTest, TargetsShareTheReference) {
  const JobResult result =
      Run(Request("int8 net", {"conv;sram=64", "conv;sram=32", "conv;sram=16"},
                  {v1::VALIDATE}, "samples=40 labelled=40"));
  ASSERT_TRUE(result.status.ok()) << result.status;
  std::map<std::string, int> executed;
  for (const std::string& stage : leases_->TakeExecuted()) ++executed[stage];
  for (int chunk = 0; chunk < 3; ++chunk) {
    EXPECT_EQ(executed[absl::StrCat("interpret[", chunk, "]")], 1);
    EXPECT_EQ(executed[absl::StrCat("simulate[", chunk, "]")], 3);
  }
  for (const v1::Report& report : result.reports) {
    EXPECT_EQ(report.bit_exact().outputs_compared(), 400);
    EXPECT_EQ(report.accuracy().samples(), 40);
    EXPECT_DOUBLE_EQ(report.accuracy().value(), 37.0 / 40);
    EXPECT_DOUBLE_EQ(report.accuracy().reference_value(), 1);
  }
  // One chip alone has its reference computed beside it.
  ASSERT_TRUE(
      Run(Request("int8 net", {"conv;sram=64"}, {v1::PROFILE})).status.ok());
  EXPECT_THAT(leases_->TakeExecuted(),
              testing::Not(testing::Contains("interpret[0]")));
  // Several do not wait for each other, nor compute it twice.
  ASSERT_TRUE(
      Run(Request("int8 net", {"conv;sram=64", "conv;sram=32"}, {v1::PROFILE}))
          .status.ok());
  EXPECT_THAT(leases_->TakeExecuted(),
              ElementsAre("interpret[0]", "simulate[0]", "simulate[0]"));
}

// Fake stages refuse states of another stage or chunk, and want none where
// nothing is carried.
TEST_F(CompileJobTest, StatesPassFromChunkToChunk) {
  const struct {
    v1::CreateJobRequest request;
    std::vector<std::string> stages;
  } kCases[] = {
      {Request("int8 net", {"conv;sram=64"}, {v1::PROFILE},
               "samples=40 sequential=1"),
       {"simulate[2]"}},
      {Request("int8 net", {"conv;sram=64", "conv;sram=32"}, {v1::VALIDATE},
               "samples=40 labelled=40 sequential=1"),
       {"interpret[2]", "simulate[2]"}},
      {Request("float net", {"conv;sram=64"}, {v1::VALIDATE},
               "samples=40 labelled=40 sequential=1", "samples=20"),
       {"interpret[2]", "simulate[2]"}},
      {Request("float net", {}, {v1::RUN}, "samples=40 sequential=1"),
       {"interpret[2]"}},
  };
  for (const auto& c : kCases) {
    v1::CreateJobRequest request = c.request;
    request.mutable_options()->set_limit(40);
    const JobResult result = Run(request);
    EXPECT_TRUE(result.status.ok()) << result.status;
    const std::vector<std::string> executed = leases_->TakeExecuted();
    for (const std::string& stage : c.stages) {
      EXPECT_THAT(executed, Contains(stage));
    }
  }
}

TEST_F(CompileJobTest, SyntheticRangesGiveNoAccuracy) {
  const JobResult result = Run(Request(
      "float net", {"conv;sram=64"}, {v1::VALIDATE}, "samples=40 labelled=40"));
  ASSERT_TRUE(result.status.ok()) << result.status;
  EXPECT_EQ(result.reports[0].calibration(), "SYNTHETIC");
  EXPECT_FALSE(result.reports[0].has_accuracy());
  EXPECT_EQ(result.reports[0].bit_exact().outputs_compared(), 400);
}

TEST_F(CompileJobTest, RunWithoutTargetGivesOutputsOfTheModelAsItCame) {
  const JobResult result =
      Run(Request("float net", {}, {v1::RUN}, "samples=20"));
  ASSERT_TRUE(result.status.ok()) << result.status;
  EXPECT_THAT(leases_->TakeExecuted(),
              ElementsAre("convert_data", "import", "interpret[0]",
                          "interpret[1]", "pack_outputs", "simplify"));
  ASSERT_EQ(result.artifacts.size(), 1u);
  EXPECT_EQ(result.artifacts[0].path(), "outputs.npz");
  EXPECT_EQ(result.artifacts[0].target(), -1);
}

TEST_F(CompileJobTest, InspectPlacesLayersWhenThereIsATarget) {
  EXPECT_EQ(
      Run(Request("int8 net", {}, {v1::INSPECT})).description.layers(0).id(),
      "conv1");
  const JobResult placed =
      Run(Request("int8 net", {"conv;sram=64"}, {v1::INSPECT}));
  EXPECT_EQ(placed.description.layers(0).id(), "conv1 placed");
  EXPECT_THAT(placed.reports, IsEmpty());
}

TEST_F(CompileJobTest, EachTargetHasATimelineOfItsOwnWhereAsked) {
  v1::CreateJobRequest request =
      Request("int8 net", {"conv;sram=64", "conv;sram=32"}, {v1::PROFILE});
  EXPECT_THAT(Run(request).artifacts, IsEmpty());
  leases_->TakeExecuted();
  request.mutable_options()->set_timeline(true);
  const JobResult result = Run(request);
  ASSERT_TRUE(result.status.ok()) << result.status;
  EXPECT_THAT(leases_->TakeExecuted(),
              ElementsAre("count_cycles", "count_cycles"));
  ASSERT_EQ(result.artifacts.size(), 2u);
  for (int target = 0; target < 2; ++target) {
    EXPECT_EQ(result.artifacts[target].path(), "timeline.pb");
    EXPECT_EQ(result.artifacts[target].target(), target);
  }
  EXPECT_NE(result.artifacts[0].digest().hash(),
            result.artifacts[1].digest().hash());
}

TEST_F(CompileJobTest, CancelEndsABlockedJob) {
  leases_->Block("tile");
  StageGroup group(*runner_, {});
  const v1::CreateJobRequest request =
      Request("int8 net", {"conv;sram=64"}, {v1::PROFILE});
  std::promise<JobResult> ended;
  StartTask(*executor_, RunCompileJob("job", request, group, *executor_),
            [&](JobResult result) { ended.set_value(std::move(result)); });
  group.Cancel(absl::CancelledError("enough"));
  const JobResult result = ended.get_future().get();
  EXPECT_TRUE(absl::IsCancelled(result.status)) << result.status;
}

// Four jobs of 256 targets each, all of them waiting for a stage of their own:
// no job and no target has a thread.
TEST_F(CompileJobTest, ManyTargetsTakeNoThreads) {
  constexpr int kJobs = 4;
  constexpr int kTargets = 256;
  leases_->Block("tile");
  std::vector<std::string> targets;
  for (int i = 0; i < kTargets; ++i) {
    targets.push_back(absl::StrCat("conv;sram=", i + 1));
  }
  const int before = tests::ThreadsOfThisProcess();
  std::vector<v1::CreateJobRequest> requests;
  for (int job = 0; job < kJobs; ++job) {
    requests.push_back(
        Request(absl::StrCat("int8 net ", job), targets, {v1::COMPILE}));
  }
  std::vector<std::promise<JobResult>> ended(kJobs);
  std::vector<std::unique_ptr<StageGroup>> groups;
  for (int job = 0; job < kJobs; ++job) {
    groups.push_back(std::make_unique<StageGroup>(*runner_, StageGroupHooks()));
    StartTask(*executor_,
              RunCompileJob("job", requests[static_cast<size_t>(job)],
                            *groups.back(), *executor_),
              [&ended, job](JobResult result) {
                ended[static_cast<size_t>(job)].set_value(std::move(result));
              });
  }
  while (leases_->Blocked() < kJobs * kTargets) std::this_thread::yield();
  EXPECT_EQ(tests::ThreadsOfThisProcess(), before);
  for (const auto& group : groups) {
    group->Cancel(absl::CancelledError("enough"));
  }
  for (auto& end : ended) {
    const JobResult result = end.get_future().get();
    EXPECT_TRUE(absl::IsCancelled(result.status)) << result.status;
    EXPECT_EQ(result.reports.size(), static_cast<size_t>(kTargets));
  }
}

// A data set of thousands of chunks does not become thousands of leases.
TEST_F(CompileJobTest, ChunksInFlightAreBounded) {
  leases_->Block("simulate[0]");
  const v1::CreateJobRequest request =
      Request("int8 net", {"conv;sram=64"}, {v1::PROFILE},
              absl::StrCat("samples=", 2000 * kChunkSamples));
  v1::CreateJobRequest all = request;
  all.mutable_options()->set_limit(2000 * kChunkSamples);
  StageGroup group(*runner_, {});
  std::promise<JobResult> ended;
  StartTask(*executor_, RunCompileJob("job", all, group, *executor_),
            [&](JobResult result) { ended.set_value(std::move(result)); });
  const std::string last =
      absl::StrCat("simulate[", kMaxChunksInFlight - 1, "]");
  std::vector<std::string> executed;
  const auto simulated = [&] {
    for (const std::string& stage : leases_->TakeExecuted()) {
      if (absl::StartsWith(stage, "simulate[")) executed.push_back(stage);
    }
    return std::count(executed.begin(), executed.end(), last) > 0;
  };
  while (!simulated()) std::this_thread::yield();
  group.Cancel(absl::CancelledError("enough"));
  EXPECT_TRUE(absl::IsCancelled(ended.get_future().get().status));
  simulated();
  EXPECT_EQ(executed.size(), kMaxChunksInFlight);
}

TEST_F(CompileJobTest, ARemovedIntermediateResultIsMadeAgain) {
  const v1::CreateJobRequest request =
      Request("int8 net", {"conv;sram=64"}, {v1::PROFILE});
  ASSERT_TRUE(Run(request).status.ok());
  leases_->TakeExecuted();
  // The tiling's blob rots; the next look-up of its stage must miss.
  const std::string tiling =
      "tiling partition<partition graph<set_io graph<simplify graph<imported "
      "model<int8 net>>>>capabilities<conv>>machine<sram=64>";
  const Digest digest = DigestOf(tiling);
  ASSERT_TRUE(*blobs_->Contains(digest));
  ASSERT_TRUE(files_
                  .Remove(absl::StrCat("/blobs/", digest.hash.substr(0, 2), "/",
                                       digest.hash, "-", digest.size_bytes))
                  .ok());
  ASSERT_TRUE(Run(request).status.ok());
  EXPECT_THAT(leases_->TakeExecuted(), ElementsAre("tile"));
}

// What the stage is asked for, by the chunks it leaves.
TEST_F(CompileJobTest, LimitCountsSyntheticSamples) {
  const struct {
    int64_t limit;
    int64_t compared;
  } cases[] = {{0, 160}, {1, 10}, {100, 1000}};
  for (const auto& c : cases) {
    v1::CreateJobRequest request =
        Request("int8 net", {"conv;sram=64"}, {v1::PROFILE});
    request.mutable_options()->set_limit(c.limit);
    const JobResult result = Run(request);
    ASSERT_TRUE(result.status.ok()) << result.status;
    EXPECT_EQ(result.reports[0].bit_exact().outputs_compared(), c.compared);
  }
}

TEST_F(CompileJobTest, LimitDoesNotCountSyntheticCalibration) {
  v1::CreateJobRequest request =
      Request("float net", {"conv;sram=64"}, {v1::PROFILE});
  ASSERT_TRUE(Run(request).status.ok());
  leases_->TakeExecuted();
  request.mutable_options()->set_limit(3);
  ASSERT_TRUE(Run(request).status.ok());
  EXPECT_THAT(leases_->TakeExecuted(),
              ElementsAre("simulate[0]", "synthesize_data"));
}

TEST_F(CompileJobTest, OnlyModelsWithoutInputsRunWithoutData) {
  for (const v1::JobGoal goal : {v1::VALIDATE, v1::RUN}) {
    const JobResult with = Run(Request("float net", {"conv;sram=64"}, {goal}));
    EXPECT_EQ(with.status.message(), "convert_data: no data");
    // Before anything is calibrated.
    const std::vector<std::string> executed = leases_->TakeExecuted();
    EXPECT_EQ(std::count(executed.begin(), executed.end(), "calibrate"), 0);
    const JobResult without =
        Run(Request("int8 no inputs", {"conv;sram=64"}, {goal}));
    ASSERT_TRUE(without.status.ok()) << without.status;
    EXPECT_EQ(without.reports[0].bit_exact().outputs_compared(), 10);
  }
}

TEST_F(CompileJobTest, LabelOffsetChangesTheDataAlone) {
  v1::CreateJobRequest request =
      Request("float net", {"conv;sram=64"}, {v1::VALIDATE},
              "samples=20 labelled=20", "samples=20");
  ASSERT_TRUE(Run(request).status.ok());
  leases_->TakeExecuted();
  request.mutable_options()->set_label_offset(1);
  ASSERT_TRUE(Run(request).status.ok());
  EXPECT_THAT(leases_->TakeExecuted(),
              ElementsAre("convert_data", "convert_reference"));
}

}  // namespace
}  // namespace edgekiln::server
