// Which stages of a job share a lease (docs/design/0032-chains-of-stages.md).

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/testing/compile_job_fixture.h"

namespace edgekiln::server {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::Pair;

class CompileJobChainsTest : public CompileJobTest {
 protected:
  v1::CreateJobRequest TimingOnly(const std::string& target,
                                  v1::JobClass job_class,
                                  const std::string& model = "int8 net") {
    v1::CreateJobRequest request = Request(model, {target}, {v1::PROFILE});
    request.mutable_options()->set_timing_only(true);
    request.mutable_options()->set_job_class(job_class);
    return request;
  }

  v1::CreateJobRequest WithSamples(const std::vector<std::string>& targets,
                                   v1::JobClass job_class) {
    v1::CreateJobRequest request = Request("int8 net", targets, {v1::PROFILE});
    request.mutable_options()->set_job_class(job_class);
    return request;
  }

  // How each of the job's simulations was leased.
  static constexpr char kAlone[] = "a";
  static constexpr char kChained[] = "c";
  std::string Simulations(const v1::CreateJobRequest& request) {
    leases_->TakeChained();
    leases_->TakeExecuted();
    const JobResult result = Run(request);
    EXPECT_TRUE(result.status.ok()) << result.status;
    const auto count = [](const std::vector<std::string>& stages) {
      return std::count_if(stages.begin(), stages.end(),
                           [](const std::string& stage) {
                             return absl::StartsWith(stage, "simulate[");
                           });
    };
    const auto chained = static_cast<size_t>(count(leases_->TakeChained()));
    const auto all = static_cast<size_t>(count(leases_->TakeExecuted()));
    return std::string(chained, 'c') + std::string(all - chained, 'a');
  }

  // How many stages went with the lease of another one.
  int SharedLeases() {
    return static_cast<int>(leases_->TakeExecuted().size()) - leases_->Leases();
  }
};

TEST_F(CompileJobChainsTest, ProgramAndCyclesAreMadeInOneLease) {
  const JobResult result =
      Run(Request("int8 net", {"conv;sram=64"}, {v1::PROFILE}));
  ASSERT_TRUE(result.status.ok()) << result.status;
  EXPECT_EQ(SharedLeases(), 2);
  EXPECT_EQ(result.reports[0].totals().cycles(), 200);
  const auto stages = CacheOf(result.reports[0]);
  EXPECT_THAT(stages, Each(Pair(testing::_, v1::Report::Stage::MISS)));
  for (const v1::Report::Stage& stage : result.reports[0].stages()) {
    EXPECT_EQ(stage.cpu_seconds(), 0.5) << stage.name();
  }
}

TEST_F(CompileJobChainsTest, TheCheckOfABatchJobGoesWithThem) {
  const JobResult result = Run(TimingOnly("conv;sram=64", v1::BATCH));
  ASSERT_TRUE(result.status.ok()) << result.status;
  EXPECT_EQ(SharedLeases(), 3);
  EXPECT_EQ(result.reports[0].totals().cycles(), 200);
  EXPECT_THAT(CacheOf(result.reports[0]),
              AllOf(Contains(Pair("check_fit", v1::Report::Stage::MISS)),
                    Contains(Pair("tile", v1::Report::Stage::MISS))));
}

// Of samples and networks whose simulation was short before.
TEST_F(CompileJobChainsTest, OfABatchJobWithSamplesAsWellAndTheirSimulation) {
  leases_->SetCpuSeconds(0.01);
  ASSERT_TRUE(Run(WithSamples({"conv;sram=64"}, v1::BATCH)).status.ok());
  EXPECT_THAT(leases_->TakeChained(),
              ElementsAre("count_cycles", "emit", "tile"));
  leases_->TakeExecuted();
  const int before = leases_->Leases();
  const JobResult result = Run(WithSamples({"conv;sram=32"}, v1::BATCH));
  ASSERT_TRUE(result.status.ok()) << result.status;
  EXPECT_EQ(leases_->Leases() - before, 2);
  EXPECT_THAT(leases_->TakeChained(),
              ElementsAre("count_cycles", "emit", "simulate[0]", "tile"));
  EXPECT_THAT(leases_->TakeExecuted(),
              ElementsAre("check_fit", "count_cycles", "emit", "resolve_target",
                          "simulate[0]", "tile"));
  EXPECT_EQ(result.reports[0].totals().cycles(), 200);
  EXPECT_THAT(CacheOf(result.reports[0]),
              Contains(Pair("simulate[0]", v1::Report::Stage::MISS)));
}

TEST_F(CompileJobChainsTest, ALongSimulationGoesAlone) {
  leases_->SetCpuSeconds(0.2);
  EXPECT_EQ(Simulations(WithSamples({"conv;sram=64"}, v1::BATCH)), kAlone);
  EXPECT_EQ(Simulations(WithSamples({"conv;sram=32"}, v1::BATCH)), kAlone);
  // Other samples tell nothing of these.
  leases_->SetCpuSeconds(0.01);
  v1::CreateJobRequest few = WithSamples({"conv;sram=64"}, v1::BATCH);
  few.mutable_options()->set_limit(3);
  EXPECT_EQ(Simulations(few), kAlone);
  EXPECT_EQ(Simulations(WithSamples({"conv;sram=16"}, v1::BATCH)), kAlone);
  EXPECT_EQ(Simulations(WithSamples({"conv;sram=8"}, v1::BATCH)), kChained);
}

TEST_F(CompileJobChainsTest, OnlyTheOneSimulationOfABatchJobIsChained) {
  leases_->SetCpuSeconds(0.01);
  ASSERT_EQ(Simulations(WithSamples({"conv;sram=64"}, v1::BATCH)), kAlone);
  EXPECT_EQ(Simulations(WithSamples({"conv;sram=63"}, v1::INTERACTIVE)),
            kAlone);
  EXPECT_EQ(Simulations(WithSamples({"conv;sram=62"}, v1::CI)), kAlone);
  // Twice: the first time, these samples are new.
  for (const char* const target : {"conv;sram=61", "conv;sram=60"}) {
    v1::CreateJobRequest validates =
        Request("int8 net", {target}, {v1::PROFILE, v1::VALIDATE},
                "samples=16 labelled=16");
    validates.mutable_options()->set_job_class(v1::BATCH);
    EXPECT_EQ(Simulations(validates), kAlone);
    v1::CreateJobRequest runs =
        Request("int8 net", {target}, {v1::RUN}, "samples=16");
    runs.mutable_options()->set_job_class(v1::BATCH);
    EXPECT_EQ(Simulations(runs), kAlone);
  }
  EXPECT_EQ(
      Simulations(WithSamples({"conv;sram=59", "conv;sram=58"}, v1::BATCH)),
      "aa");
  ASSERT_EQ(Simulations(WithSamples({"conv;sram=57"}, v1::BATCH)), kChained);
}

TEST_F(CompileJobChainsTest, ChunksOfSamplesGoAlone) {
  leases_->SetCpuSeconds(0.01);
  for (const char* const target : {"conv;sram=64", "conv;sram=32"}) {
    v1::CreateJobRequest request = WithSamples({target}, v1::BATCH);
    request.mutable_options()->set_limit(40);
    const std::string simulations = Simulations(request);
    EXPECT_GT(simulations.size(), std::string(kAlone).size()) << target;
    EXPECT_THAT(simulations, Not(HasSubstr(kChained))) << target;
  }
}

TEST_F(CompileJobChainsTest, ARefusedNetworkIsNotSimulated) {
  leases_->SetCpuSeconds(0.01);
  ASSERT_EQ(Simulations(WithSamples({"conv;sram=64"}, v1::BATCH)), kAlone);
  EXPECT_EQ(Run(WithSamples({"conv;dwarf"}, v1::BATCH)).status.message(),
            "check_fit: cannot fit");
  EXPECT_THAT(leases_->TakeExecuted(), Not(Contains("simulate[0]")));
}

TEST_F(CompileJobChainsTest, TheErrorOfAChainedSimulationNamesIt) {
  leases_->SetCpuSeconds(0.01);
  ASSERT_EQ(Simulations(WithSamples({"conv;sram=64"}, v1::BATCH)), kAlone);
  EXPECT_EQ(Run(WithSamples({"conv;stalls"}, v1::BATCH)).status.message(),
            "simulate[0]: stalled");
  EXPECT_THAT(leases_->TakeChained(), Contains("simulate[0]"));
  EXPECT_THAT(leases_->TakeExecuted(), Contains("simulate[0]").Times(1));
}

TEST_F(CompileJobChainsTest, OfAWatchedJobItGoesAlone) {
  ASSERT_TRUE(Run(TimingOnly("conv;sram=64", v1::INTERACTIVE)).status.ok());
  EXPECT_EQ(SharedLeases(), 2);
}

// It saves calibration and quantization.
TEST_F(CompileJobChainsTest, OfAFloatModelItComesFirst) {
  EXPECT_EQ(
      Run(TimingOnly("conv;dwarf", v1::BATCH, "float net")).status.message(),
      "check_fit: cannot fit");
  EXPECT_THAT(leases_->TakeExecuted(),
              AllOf(Not(Contains("quantize")), Not(Contains("partition"))));
}

TEST_F(CompileJobChainsTest, ALateRefusalIsTheSame) {
  for (const v1::JobClass job_class : {v1::INTERACTIVE, v1::BATCH}) {
    const JobResult result = Run(TimingOnly("conv;dwarf", job_class));
    EXPECT_EQ(result.status.message(), "check_fit: cannot fit");
    EXPECT_THAT(leases_->TakeExecuted(), Not(Contains("tile")));
  }
}

}  // namespace
}  // namespace edgekiln::server
