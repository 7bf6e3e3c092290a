// Which stages of a job share a lease (docs/design/0032-chains-of-stages.md).

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/testing/compile_job_fixture.h"

namespace edgekiln::server {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::Each;
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
