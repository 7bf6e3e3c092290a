// The manager's queue, and what it does while the disk refuses writes.

#include <string>
#include <thread>

#include "base/error.h"
#include "gtest/gtest.h"
#include "server/daemon/jobs/sqlite.h"
#include "server/daemon/jobs/testing/job_manager_fixture.h"
#include "server/daemon/retry_info.h"

namespace edgekiln::server {
namespace {

class JobFairnessTest : public JobManagerTest {
 protected:
  void Start(int max_running, int max_queued = 1000) {
    options_.max_running = max_running;
    options_.max_queued = max_queued;
    NewManager();
    ASSERT_TRUE(manager_->Start().ok());
  }

  void WaitUntilBlocked() {
    while (!leases_->Blocks()) std::this_thread::yield();
  }

  // Every event is refused, as by a full disk, until the other is called.
  void RefuseWrites() {
    Execute(
        "CREATE TRIGGER refuse BEFORE INSERT ON events BEGIN "
        "SELECT RAISE(FAIL, 'full'); END");
  }
  void AllowWrites() { Execute("DROP TRIGGER refuse"); }
  void Execute(const std::string& sql) {
    absl::StatusOr<Database> other = Database::Open(folder_ + "/jobs.db");
    ASSERT_TRUE(other.ok()) << other.status();
    const absl::Status done = other->Execute(sql);
    ASSERT_TRUE(done.ok()) << done;
  }
};

TEST_F(JobFairnessTest, AnInspectRunsWhile60JobsWait) {
  Start(4);
  leases_->Block("partition", /*leased=*/true);
  for (int i = 0; i < 60; ++i) {
    ASSERT_TRUE(Create(Request("int8 " + std::to_string(i))).ok());
  }
  WaitUntilBlocked();
  const absl::StatusOr<v1::Job> inspect =
      Create(Request("int8 shown", v1::INSPECT));
  ASSERT_TRUE(inspect.ok()) << inspect.status();
  EXPECT_EQ(AtItsEnd(inspect->id()).state(), v1::SUCCEEDED);
}

TEST_F(JobFairnessTest, ConnectionsTakeTurns) {
  Start(0);
  ASSERT_TRUE(Create(Request("int8 a"), "1").ok());
  const std::string second = Create(Request("int8 b"), "1")->id();
  const std::string other = Create(Request("int8 c"), "2")->id();
  clock_.Advance(absl::Seconds(2));
  manager_->Tick();
  EXPECT_EQ(manager_->Get(other)->waiting().position(), 2);
  EXPECT_EQ(manager_->Get(second)->waiting().position(), 3);
  EXPECT_EQ(manager_->Get(second)->waiting().cause(),
            v1::JobEvent::Waiting::JOBS_AHEAD);
}

TEST_F(JobFairnessTest, OrderAndAgeOutliveARestart) {
  // As a daemon that died ten minutes ago left them.
  v1::CreateJobRequest batch = Request("int8 x");
  batch.mutable_options()->set_job_class(v1::BATCH);
  Left("batch", batch, v1::QUEUED);
  Left("ci", Request("int8 x"), v1::QUEUED);
  clock_.Advance(absl::Hours(1));
  Start(0);
  clock_.Advance(absl::Seconds(2));
  manager_->Tick();
  EXPECT_EQ(manager_->Get("ci")->waiting().position(), 1);
  EXPECT_EQ(manager_->Get("batch")->waiting().position(), 2);
}

TEST_F(JobFairnessTest, AFullQueueSaysWhenToComeAgain) {
  Start(0, 1);
  ASSERT_TRUE(Create(Request("int8 a")).ok());
  const absl::Status full = Create(Request("int8 b")).status();
  EXPECT_EQ(GetErrorDetail(full)->reason, "QUEUE_FULL");
  const auto delay = RetryDelayOf(full);
  ASSERT_TRUE(delay.has_value());
  EXPECT_GE(*delay, kMinRetryDelay);
  EXPECT_LE(*delay, kMaxRetryDelay);
}

TEST_F(JobFairnessTest, BadDeadlinesAreRefused) {
  Start(1);
  v1::CreateJobRequest request = Request("int8 a");
  request.mutable_options()->mutable_run_deadline()->set_seconds(-1);
  const absl::Status refused = Create(request).status();
  ASSERT_TRUE(absl::IsInvalidArgument(refused)) << refused;
  EXPECT_EQ(GetErrorDetail(refused)->reason, "BAD_DEADLINE");
}

TEST_F(JobFairnessTest, CancelOnAFullDiskTakesEffectAndIsToldHonestly) {
  Start(4);
  leases_->Block("import", /*leased=*/true);
  const std::string id = Create(Request("int8 a"))->id();
  WaitUntilBlocked();
  journal_->Flush();
  RefuseWrites();
  const absl::Status told =
      manager_->Cancel(id, absl::Milliseconds(100)).status();
  EXPECT_TRUE(absl::IsUnavailable(told)) << told;
  EXPECT_EQ(GetErrorDetail(told)->reason, "CANCEL_NOT_DURABLE");
  EXPECT_FALSE(leases_->Blocks());  // The lease has gone all the same.
  // As is what is asked meanwhile: neither hangs nor pretends.
  EXPECT_FALSE(Create(Request("int8 b")).ok());
  EXPECT_EQ(manager_->Get(id)->waiting().cause(),
            v1::JobEvent::Waiting::DISK_FULL);
  AllowWrites();
  EXPECT_EQ(AtItsEnd(id).state(), v1::CANCELLED);
  const absl::StatusOr<v1::Job> again = manager_->Cancel(id);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->state(), v1::CANCELLED);
  EXPECT_TRUE(Create(Request("int8 b")).ok());
}

TEST_F(JobFairnessTest, WhatTheDiskNeverTookIsNotToldAtTheEnd) {
  Start(4);
  leases_->Block("import", /*leased=*/true);
  const std::string id = Create(Request("int8 a"))->id();
  WaitUntilBlocked();
  journal_->Flush();
  const int64_t durable = store_->Get(id)->last_sequence();
  RefuseWrites();
  EXPECT_FALSE(manager_->Cancel(id, absl::Milliseconds(1)).ok());
  manager_->Stop();
  EXPECT_EQ(journal_->WaitForEvents(id, durable, absl::ZeroDuration()),
            JobJournal::News::kNone);
}

TEST_F(JobFairnessTest, CancelAnswersWithTheCancelledJob) {
  Start(4);
  leases_->Block("import", /*leased=*/true);
  const std::string id = Create(Request("int8 a"))->id();
  WaitUntilBlocked();
  const absl::StatusOr<v1::Job> job = manager_->Cancel(id);
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_EQ(job->state(), v1::CANCELLED);
}

}  // namespace
}  // namespace edgekiln::server
