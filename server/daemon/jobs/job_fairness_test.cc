// The manager's queue, and what it does while the disk refuses writes.

#include <chrono>
#include <filesystem>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "cache/disk_blob_store.h"
#include "cache/stage_result_store.h"
#include "gtest/gtest.h"
#include "server/daemon/jobs/job_manager.h"
#include "server/daemon/jobs/sqlite.h"
#include "server/daemon/retry_info.h"
#include "server/daemon/stages/fake_stages.h"

namespace edgekiln::server {
namespace {

class JobFairnessTest : public testing::Test {
 protected:
  JobFairnessTest()
      : folder_(testing::TempDir() + "job_fairness_" +
                testing::UnitTest::GetInstance()->current_test_info()->name()) {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    blobs_ = *cache::OpenDiskBlobStore(*files_, folder_ + "/blobs");
    results_ = *cache::OpenDiskStageResultStore(*files_, folder_ + "/results",
                                                *blobs_);
    leases_ = std::make_unique<FakeLeases>(*blobs_);
    stages_ =
        std::make_unique<StageRunner>(*results_, *blobs_, *leases_, *log_);
    store_ = *JobStore::Open(folder_ + "/jobs.db");
  }

  void Start(int max_running, int max_queued = 1000) {
    journal_ = std::make_unique<JobJournal>(*store_, clock_, *log_);
    JobManagerOptions options;
    options.max_running = max_running;
    options.max_queued = max_queued;
    manager_ = std::make_unique<JobManager>(options, *store_, *journal_,
                                            *stages_, *executor_, *blobs_,
                                            *space_, clock_, *log_);
    ASSERT_TRUE(manager_->Start().ok());
  }

  v1::CreateJobRequest Request(const std::string& model,
                               v1::JobGoal goal = v1::COMPILE) {
    v1::CreateJobRequest request;
    *request.mutable_model() = PutText(*blobs_, model);
    request.add_goals(goal);
    if (goal != v1::INSPECT) {
      *request.add_targets()->mutable_digest() =
          PutText(*blobs_, "conv;sram=64");
    }
    return request;
  }

  absl::StatusOr<v1::Job> Create(const v1::CreateJobRequest& request,
                                 const std::string& peer = "") {
    std::promise<absl::StatusOr<v1::Job>> created;
    manager_->Create(
        request,
        [&](absl::StatusOr<v1::Job> job) { created.set_value(std::move(job)); },
        peer);
    return created.get_future().get();
  }

  v1::Job AtItsEnd(const std::string& id) {
    int64_t seen = 0;
    while (journal_->WaitForEvents(id, seen, absl::Seconds(30)) ==
           JobJournal::News::kEvents) {
      seen = store_->Get(id)->last_sequence();
    }
    return *store_->Get(id);
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

  const std::string folder_;
  const std::unique_ptr<FileSystem> files_ = NewPosixFileSystem();
  const std::unique_ptr<Logger> log_ = NewNullLogger();
  FakeClock clock_;
  const std::unique_ptr<cache::DiskSpace> space_ =
      cache::NewDiskSpace(folder_, 0, [] { return int64_t{1} << 30; });
  std::unique_ptr<cache::BlobStore> blobs_;
  std::unique_ptr<cache::StageResultStore> results_;
  std::unique_ptr<FakeLeases> leases_;
  std::unique_ptr<StageRunner> stages_;
  std::unique_ptr<JobStore> store_;
  std::unique_ptr<JobJournal> journal_;
  const std::unique_ptr<Executor> executor_ = *Executor::New(4);
  std::unique_ptr<JobManager> manager_;
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
  for (const char* id : {"batch", "ci"}) {
    JobUpdate update;
    update.job_id = id;
    update.is_new = true;
    update.has_job = true;
    update.job.set_id(id);
    update.job.set_state(v1::QUEUED);
    *update.job.mutable_request() = Request("int8 x");
    if (id[0] == 'b') {
      update.job.mutable_request()->mutable_options()->set_job_class(v1::BATCH);
    }
    update.job.mutable_created()->set_seconds(1);
    update.events.emplace_back().set_sequence(1);
    ASSERT_TRUE(store_->Apply({update}).ok());
  }
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
