// Daemon and workers when something is missing or dies.

#include <signal.h>

#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "tests/e2e/cluster.h"
#include "tests/e2e/expectations.h"
#include "tests/support/golden.h"
#include "tests/support/shared_data.h"

namespace edgekiln::tests {
namespace {

std::vector<std::string> Profile() {
  return {"profile",  SourcePath("docs/example/digits.onnx"),
          "--target", "dla-64-o-512k",
          "--json",   "--quiet"};
}

std::vector<std::string> With(std::vector<std::string> arguments,
                              const std::string& option,
                              const std::string& value) {
  arguments.push_back(option);
  arguments.push_back(value);
  return arguments;
}

// Waits until the daemon knows of the job; without a worker it stays there.
bool HasJob(Cluster& cluster) {
  for (int i = 0; i < 200; ++i) {
    const Outcome jobs = cluster.Cli({"jobs", "list"});
    if (jobs.out.find("digits.onnx") != std::string::npos) return true;
  }
  return false;
}

TEST(WorkersTest, WithoutAnyTheJobWaits) {
  const auto cluster = Cluster::Start();
  ASSERT_NE(cluster, nullptr);
  const Outcome outcome = cluster->Cli(With(Profile(), "--timeout", "2s"));
  EXPECT_EQ(outcome.exit_code, 4) << outcome;
  const v1::ErrorDetail error = ErrorOf(outcome);
  EXPECT_EQ(error.reason(), "NO_WORKER");
  EXPECT_NE(error.fix().find("edgekiln-worker"), std::string::npos);
  EXPECT_TRUE(cluster->DaemonIsUp());
  // The daemon was told: the job is over.
  const Outcome jobs = cluster->Cli({"jobs", "list"});
  EXPECT_NE(jobs.out.find("cancelled"), std::string::npos) << jobs;
}

TEST(WorkersTest, AJobGoesOnWhenOneComes) {
  const auto cluster = Cluster::Start();
  ASSERT_NE(cluster, nullptr);
  const auto waiting = cluster->StartCli(Profile());
  ASSERT_NE(waiting, nullptr);
  EXPECT_FALSE(waiting->WaitFor(absl::Milliseconds(500)).has_value());
  cluster->AddWorker();
  const v1::Report report =
      ReportOf(cluster->sandbox().Finish(*waiting, absl::Seconds(60)));
  EXPECT_EQ(report.bit_exact().mismatches(), 0);
}

TEST(WorkersTest, RolesMayBeApart) {
  const auto cluster = Cluster::Start();
  ASSERT_NE(cluster, nullptr);
  cluster->AddWorker({"--roles", "compile"});
  cluster->AddWorker({"--roles", "simulate", "--slots", "2"});
  const v1::Report report = ReportOf(cluster->Cli(Profile()));
  ExpectConsistent(report);
  EXPECT_EQ(report.bit_exact().mismatches(), 0);
}

TEST(WorkersTest, NobodyListens) {
  Sandbox sandbox;
  // Port 1 is nobody's.
  const Outcome outcome =
      sandbox.Cli({"targets", "list", "--server", "127.0.0.1:1", "--json"});
  EXPECT_EQ(outcome.exit_code, 4) << outcome;
  EXPECT_EQ(ErrorOf(outcome).reason(), "DAEMON_UNREACHABLE");
}

TEST(WorkersTest, ACrashIsAFailedLease) {
  const auto cluster = Cluster::Start();
  ASSERT_NE(cluster, nullptr);
  const int bad =
      cluster->AddWorker({"--roles", "compile", "--test-crash-stage", "tile"});
  cluster->AddWorker({"--roles", "simulate"});
  const Outcome outcome = cluster->Cli(Profile());
  EXPECT_EQ(outcome.exit_code, 4) << outcome;
  const v1::ErrorDetail error = ErrorOf(outcome);
  EXPECT_EQ(error.fault(), v1::ErrorDetail::INFRA);
  EXPECT_NE(error.where().find("tile"), std::string::npos)
      << error.DebugString();
  EXPECT_TRUE(cluster->DaemonIsUp());

  // It would fail again: that is remembered, until somebody says otherwise.
  EXPECT_EQ(error.reason(), "INPUT_QUARANTINED") << error.DebugString();
  cluster->StopWorker(bad);
  cluster->AddWorker({"--roles", "compile"});
  const v1::ErrorDetail again = ErrorOf(cluster->Cli(Profile()));
  EXPECT_EQ(again.reason(), "INPUT_QUARANTINED") << again.DebugString();
  const std::string command = "edgekiln quarantine release ";
  const size_t at = again.fix().find(command);
  ASSERT_NE(at, std::string::npos) << again.DebugString();
  const Outcome released = cluster->Cli(
      {"quarantine", "release", again.fix().substr(at + command.size(), 12)});
  EXPECT_EQ(released.exit_code, 0) << released;
  const v1::Report report = ReportOf(cluster->Cli(Profile()));
  ExpectConsistent(report);
  EXPECT_EQ(report.bit_exact().mismatches(), 0);
}

TEST(WorkersTest, AKilledWorkersLeaseGoesToAnother) {
  const auto cluster = Cluster::Start();
  ASSERT_NE(cluster, nullptr);
  const int worker = cluster->AddWorker();
  const auto job = cluster->StartCli(Profile());
  ASSERT_NE(job, nullptr);
  absl::SleepFor(absl::Milliseconds(100));
  cluster->KillWorker(worker);
  cluster->AddWorker();
  const v1::Report report =
      ReportOf(cluster->sandbox().Finish(*job, absl::Seconds(60)));
  EXPECT_EQ(report.bit_exact().mismatches(), 0);
}

TEST(WorkersTest, InterruptCancelsTheJob) {
  const auto cluster = Cluster::Start();
  ASSERT_NE(cluster, nullptr);
  const auto job = cluster->StartCli(Profile());
  ASSERT_NE(job, nullptr);
  ASSERT_TRUE(HasJob(*cluster));
  job->Signal(SIGINT);
  const Outcome outcome = cluster->sandbox().Finish(*job, absl::Seconds(20));
  EXPECT_EQ(outcome.exit_code, 130) << outcome;
  // The command asked for it; the daemon may need a moment.
  Outcome jobs;
  for (int i = 0; i < 100; ++i) {
    jobs = cluster->Cli({"jobs", "list"});
    if (jobs.out.find("cancelled") != std::string::npos) break;
  }
  EXPECT_NE(jobs.out.find("cancelled"), std::string::npos) << jobs;
}

// Jobs, blobs and results live in the state folder, not in the daemon.
TEST(WorkersTest, AKilledDaemonForgetsNothing) {
  const auto cluster = Cluster::Start();
  ASSERT_NE(cluster, nullptr);
  const int worker = cluster->AddWorker();
  const v1::Report before = ReportOf(cluster->Cli(Profile()));
  ASSERT_FALSE(HasFailure());
  cluster->KillDaemon();
  // The worker stays away: everything must be found.
  cluster->StopWorker(worker);
  ASSERT_TRUE(cluster->StartDaemon());
  const Outcome show = cluster->Cli({"jobs", "show", before.job_id()});
  EXPECT_EQ(show.exit_code, 0) << show;
  EXPECT_NE(show.out.find("succeeded"), std::string::npos) << show;
  const v1::Report after =
      ReportOf(cluster->Cli(With(Profile(), "--timeout", "20s")));
  EXPECT_TRUE(StagesWith(after, v1::Report::Stage::MISS).empty());
  EXPECT_EQ(after.program().hash(), before.program().hash());
}

// A job that was accepted is finished, and who waits for it gets its report.
TEST(WorkersTest, AJobOutlivesItsDaemon) {
  const auto cluster = Cluster::Start();
  ASSERT_NE(cluster, nullptr);
  const auto job = cluster->StartCli(Profile());
  ASSERT_NE(job, nullptr);
  ASSERT_TRUE(HasJob(*cluster));
  cluster->KillDaemon();
  ASSERT_TRUE(cluster->StartDaemon());
  cluster->AddWorker();
  const v1::Report report =
      ReportOf(cluster->sandbox().Finish(*job, absl::Seconds(60)));
  ExpectConsistent(report);
  EXPECT_EQ(report.bit_exact().mismatches(), 0);
}

// A daemon that is restarted: who waits is told so, and goes on.
TEST(WorkersTest, AClientWaitsThroughARestart) {
  const auto cluster = Cluster::Start();
  ASSERT_NE(cluster, nullptr);
  std::vector<std::string> loud = Profile();
  loud.pop_back();
  const auto job = cluster->StartCli(loud);
  ASSERT_NE(job, nullptr);
  ASSERT_TRUE(HasJob(*cluster));
  cluster->EndDaemon();
  ASSERT_TRUE(cluster->StartDaemon());
  cluster->AddWorker();
  const Outcome outcome = cluster->sandbox().Finish(*job, absl::Seconds(60));
  ExpectConsistent(ReportOf(outcome));
  EXPECT_NE(outcome.err.find("connection lost, waiting for the daemon for up "
                             "to"),
            std::string::npos)
      << outcome;
}

// Workers find a restarted daemon by themselves.
TEST(WorkersTest, AWorkerOutlivesItsDaemon) {
  const auto cluster = Cluster::Start();
  ASSERT_NE(cluster, nullptr);
  cluster->AddWorker();
  ASSERT_EQ(ReportOf(cluster->Cli(Profile())).bit_exact().mismatches(), 0);
  cluster->KillDaemon();
  ASSERT_TRUE(cluster->StartDaemon());
  const v1::Report report = ReportOf(
      cluster->Cli(With(With(Profile(), "--seed", "77"), "--timeout", "60s")));
  EXPECT_FALSE(StagesWith(report, v1::Report::Stage::MISS).empty());
}

// Also where they have given up several attempts to connect.
TEST(WorkersTest, AWorkerWaitsForADaemonThatIsAwayForLong) {
  const auto cluster = Cluster::Start();
  ASSERT_NE(cluster, nullptr);
  cluster->AddWorker();
  ASSERT_EQ(ReportOf(cluster->Cli(Profile())).bit_exact().mismatches(), 0);
  cluster->KillDaemon();
  absl::SleepFor(absl::Seconds(5));
  ASSERT_TRUE(cluster->StartDaemon());
  const v1::Report report = ReportOf(
      cluster->Cli(With(With(Profile(), "--seed", "77"), "--timeout", "20s")));
  EXPECT_FALSE(StagesWith(report, v1::Report::Stage::MISS).empty());
}

}  // namespace
}  // namespace edgekiln::tests
