// What a job does beyond its command: a slot, a deadline.

#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "tests/e2e/cluster.h"
#include "tests/e2e/expectations.h"
#include "tests/support/golden.h"

namespace edgekiln::tests {
namespace {

std::vector<std::string> Profile(const std::vector<std::string>& options) {
  std::vector<std::string> out = {"profile",
                                  SourcePath("docs/example/digits.onnx"),
                                  "--target", "dla-64-o-512k"};
  out.insert(out.end(), options.begin(), options.end());
  out.insert(out.end(), {"--json", "--quiet"});
  return out;
}

// Waits until the daemon knows of so many jobs.
bool HasJobs(Cluster& cluster, size_t count) {
  for (int i = 0; i < 200; ++i) {
    const Outcome jobs = cluster.Cli({"jobs", "list"});
    size_t seen = 0;
    size_t at = 0;
    while ((at = jobs.out.find("digits.onnx", at)) != std::string::npos) {
      ++seen;
      ++at;
    }
    if (seen >= count) return true;
  }
  return false;
}

TEST(JobOptionsTest, ANewerJobOfTheSameKeyTakesThePlaceOfTheOlder) {
  const auto cluster = Cluster::Start();
  ASSERT_NE(cluster, nullptr);
  const auto older = cluster->StartCli(Profile({"--supersede", "pane"}));
  const auto other = cluster->StartCli(Profile({"--supersede", "terminal"}));
  ASSERT_TRUE(HasJobs(*cluster, 2));
  const auto newer =
      cluster->StartCli(Profile({"--supersede", "pane", "--seed", "2"}));
  const Outcome gone = cluster->sandbox().Finish(*older, absl::Seconds(30));
  EXPECT_EQ(gone.exit_code, 130) << gone;
  EXPECT_EQ(ErrorOf(gone).reason(), "SUPERSEDED");
  EXPECT_NE(ErrorOf(gone).where().find("slot 'pane'"), std::string::npos);
  cluster->AddWorker();
  for (Process* const process : {newer.get(), other.get()}) {
    const v1::Report report =
        ReportOf(cluster->sandbox().Finish(*process, absl::Seconds(60)));
    EXPECT_EQ(report.bit_exact().mismatches(), 0);
  }
}

TEST(JobOptionsTest, AQueueTimeoutSaysWhatTheJobWaitedFor) {
  const auto cluster = Cluster::Start();
  ASSERT_NE(cluster, nullptr);
  const Outcome outcome = cluster->Cli(Profile({"--queue-timeout", "2s"}));
  EXPECT_EQ(outcome.exit_code, 4) << outcome;
  EXPECT_EQ(ErrorOf(outcome).reason(), "QUEUE_DEADLINE");
  EXPECT_NE(ErrorOf(outcome).where().find("no worker with role COMPILE"),
            std::string::npos)
      << outcome;
  // What was not asked to wait that long.
  cluster->AddWorker();
  EXPECT_EQ(cluster->Cli(Profile({"--queue-timeout", "60s"})).exit_code, 0);
}

}  // namespace
}  // namespace edgekiln::tests
