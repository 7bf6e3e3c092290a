#include "server/daemon/jobs/recalled_job.h"

#include <filesystem>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "cache/disk_blob_store.h"
#include "cache/stage_result_store.h"
#include "gtest/gtest.h"
#include "server/daemon/jobs/job_journal.h"
#include "server/daemon/jobs/job_manager.h"
#include "server/daemon/jobs/job_store.h"
#include "server/daemon/stages/recalled_stages.h"
#include "server/daemon/stages/testing/fake_stages.h"
#include "server/executor.h"

namespace edgekiln::server {
namespace {

class RecalledJobTest : public testing::Test {
 protected:
  RecalledJobTest()
      : folder_(testing::TempDir() + "recalled_job_" +
                testing::UnitTest::GetInstance()->current_test_info()->name()) {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    blobs_ = *cache::OpenDiskBlobStore(*files_, folder_ + "/blobs");
    leases_ = std::make_unique<FakeLeases>(*blobs_);
    options_.max_running = 1;
    NextLife();
  }

  // Nothing is at hand then.
  void NextLife() {
    manager_.reset();
    journal_.reset();
    store_.reset();
    results_ = *cache::OpenDiskStageResultStore(*files_, folder_ + "/results",
                                                *blobs_);
    stages_ =
        std::make_unique<StageRunner>(*results_, *blobs_, *leases_, *log_);
    store_ = *JobStore::Open(folder_ + "/jobs.db", {.blobs = blobs_.get()});
    journal_ = std::make_unique<JobJournal>(*store_, clock_, *log_);
    options_.seed = ++lives_;
    manager_ = std::make_unique<JobManager>(options_, *store_, *journal_,
                                            *stages_, *executor_, *blobs_,
                                            *space_, clock_, *log_);
    ASSERT_TRUE(manager_->Start().ok());
  }

  v1::CreateJobRequest Request(const std::string& model,
                               const std::string& target = "conv;sram=64") {
    v1::CreateJobRequest request;
    *request.mutable_model() = PutText(*blobs_, model);
    *request.add_targets()->mutable_digest() = PutText(*blobs_, target);
    request.add_goals(v1::COMPILE);
    request.add_goals(v1::PROFILE);
    return request;
  }

  std::string Create(const v1::CreateJobRequest& request) {
    std::promise<absl::StatusOr<v1::Job>> created;
    manager_->Create(request, [&](absl::StatusOr<v1::Job> job) {
      created.set_value(std::move(job));
    });
    const absl::StatusOr<v1::Job> job = created.get_future().get();
    EXPECT_TRUE(job.ok()) << job.status();
    EXPECT_EQ(job->state(), v1::QUEUED);
    return job->id();
  }

  v1::Job AtItsEnd(const std::string& id) {
    int64_t seen = 0;
    while (journal_->WaitForEvents(id, seen, absl::Seconds(30)) ==
           JobJournal::News::kEvents) {
      seen = store_->Get(id)->last_sequence();
    }
    return *store_->Get(id);
  }

  bool IsAtHand(const v1::CreateJobRequest& request) {
    v1::Job job;
    job.set_id("j");
    job.set_state(v1::QUEUED);
    *job.mutable_request() = request;
    return RecallJob(job, *stages_, clock_).has_value();
  }

  // All that is told of a job, but for its id.
  std::string Told(const std::string& id) {
    v1::Job job = AtItsEnd(id);
    EXPECT_EQ(*(*store_->FinishedJob(id)), job.SerializeAsString());
    std::string told;
    for (int target = 0; target < job.reports(); ++target) {
      v1::Report report;
      EXPECT_TRUE(report.ParseFromString(**store_->GetReport(id, target)));
      EXPECT_EQ(report.job_id(), id);
      report.clear_job_id();
      told += report.DebugString();
    }
    const auto events = store_->Events(id, 0, 1000);
    for (v1::JobEvent event : *events) {
      if (event.has_counted()) {
        EXPECT_EQ(event.counted().report().job_id(), id);
        event.mutable_counted()->mutable_report()->clear_job_id();
      }
      told += event.DebugString();
    }
    job.clear_id();
    return told + job.DebugString();
  }

  const std::string folder_;
  const std::unique_ptr<FileSystem> files_ = NewPosixFileSystem();
  const std::unique_ptr<Logger> log_ = NewNullLogger();
  FakeClock clock_;
  JobManagerOptions options_;
  uint64_t lives_ = 0;
  const std::unique_ptr<cache::DiskSpace> space_ =
      cache::NewDiskSpace(folder_, 0, [] { return int64_t{1} << 30; });
  std::unique_ptr<cache::BlobStore> blobs_;
  std::unique_ptr<cache::StageResultStore> results_;
  std::unique_ptr<FakeLeases> leases_;
  std::unique_ptr<StageRunner> stages_;
  // With more, it is chance what two targets tell first.
  const std::unique_ptr<Executor> executor_ = *Executor::New(1);
  std::unique_ptr<JobStore> store_;
  std::unique_ptr<JobJournal> journal_;
  std::unique_ptr<JobManager> manager_;
};

// A success of two targets, and two errors of users.
TEST_F(RecalledJobTest, TellsWhatARunFromTheCacheTells) {
  v1::CreateJobRequest two = Request("int8 net");
  *two.add_targets()->mutable_digest() = PutText(*blobs_, "conv;sram=32");
  for (const v1::CreateJobRequest& request :
       {two, Request("bad net"), Request("int8 net", "conv;tiny")}) {
    NextLife();
    AtItsEnd(Create(request));
    NextLife();
    leases_->TakeExecuted();
    EXPECT_FALSE(IsAtHand(request));
    const std::string run = Told(Create(request));
    ASSERT_TRUE(IsAtHand(request));
    const std::string id = Create(request);
    EXPECT_EQ(Told(id), run);
    EXPECT_TRUE(leases_->TakeExecuted().empty());
    // What is told from memory is what is on the disk.
    NextLife();
    EXPECT_EQ(Told(id), run);
  }
}

TEST_F(RecalledJobTest, TakesNoTurn) {
  AtItsEnd(Create(Request("int8 net")));
  leases_->Block("tile", /*leased=*/true);
  const std::string other = Create(Request("int8 other"));
  while (!leases_->Blocks()) std::this_thread::yield();
  EXPECT_EQ(AtItsEnd(Create(Request("int8 net"))).state(), v1::SUCCEEDED);
  EXPECT_LT(store_->Get(other)->state(), v1::SUCCEEDED);
  EXPECT_TRUE(manager_->Cancel(other).ok());
}

TEST_F(RecalledJobTest, EndsOlderJobsOfItsSlot) {
  AtItsEnd(Create(Request("int8 net")));
  leases_->Block("tile", /*leased=*/true);
  v1::CreateJobRequest older = Request("int8 other");
  older.mutable_slot()->set_name("editor");
  const std::string id = Create(older);
  v1::CreateJobRequest newer = Request("int8 net");
  newer.mutable_slot()->set_name("editor");
  ASSERT_TRUE(IsAtHand(newer));
  EXPECT_EQ(AtItsEnd(Create(newer)).state(), v1::SUCCEEDED);
  EXPECT_EQ(AtItsEnd(id).error().reason(), "SUPERSEDED");
}

TEST_F(RecalledJobTest, IsRunWhereSomethingIsGone) {
  AtItsEnd(Create(Request("int8 net")));
  EXPECT_TRUE(IsAtHand(Request("int8 net")));
  std::filesystem::remove_all(folder_ + "/results");
  leases_->TakeExecuted();
  EXPECT_FALSE(IsAtHand(Request("int8 net")));
  EXPECT_EQ(AtItsEnd(Create(Request("int8 net"))).state(), v1::SUCCEEDED);
  EXPECT_FALSE(leases_->TakeExecuted().empty());
}

// Whoever asks has other things to do.
TEST_F(RecalledJobTest, IsRunIfItHasManyStages) {
  v1::CreateJobRequest request = Request("int8 net");
  request.add_goals(v1::VALIDATE);
  const int samples = kChunkSamples * RecalledStages::kMaxStages;
  *request.mutable_data()->add_files() =
      PutText(*blobs_, "samples=" + std::to_string(samples));
  ASSERT_EQ(AtItsEnd(Create(request)).state(), v1::SUCCEEDED);
  EXPECT_FALSE(IsAtHand(request));
  leases_->TakeExecuted();
  EXPECT_EQ(AtItsEnd(Create(request)).state(), v1::SUCCEEDED);
  EXPECT_TRUE(leases_->TakeExecuted().empty());
}

TEST_F(RecalledJobTest, IsFoundByItsRequestId) {
  AtItsEnd(Create(Request("int8 net")));
  v1::CreateJobRequest request = Request("int8 net");
  request.set_request_id("r");
  const std::string id = Create(request);
  EXPECT_EQ(store_->FindByRequest("r").value()->id(), id);
  std::promise<std::string> again;
  manager_->Create(request, [&](absl::StatusOr<v1::Job> job) {
    again.set_value(job->id());
  });
  EXPECT_EQ(again.get_future().get(), id);
}

// No disk, no job: nobody is told of one that is not stored.
TEST_F(RecalledJobTest, IsRefusedIfItCannotBeStored) {
  AtItsEnd(Create(Request("int8 net")));
  std::filesystem::remove(folder_ + "/jobs.db");
  std::promise<absl::Status> refused;
  manager_->Create(Request("int8 net"), [&](absl::StatusOr<v1::Job> job) {
    refused.set_value(job.status());
  });
  EXPECT_TRUE(absl::IsUnavailable(refused.get_future().get()));
}

}  // namespace
}  // namespace edgekiln::server
