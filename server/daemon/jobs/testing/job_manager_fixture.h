#ifndef EK_SERVER_DAEMON_JOBS_TESTING_JOB_MANAGER_FIXTURE_H_
#define EK_SERVER_DAEMON_JOBS_TESTING_JOB_MANAGER_FIXTURE_H_

// A manager whose clock, disk and stages the test moves.

#include <cstdint>
#include <filesystem>
#include <future>
#include <memory>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "cache/disk_blob_store.h"
#include "cache/disk_space.h"
#include "cache/stage_result_store.h"
#include "gtest/gtest.h"
#include "server/daemon/jobs/job_journal.h"
#include "server/daemon/jobs/job_manager.h"
#include "server/daemon/jobs/job_store.h"
#include "server/daemon/stages/stage_runner.h"
#include "server/daemon/stages/testing/fake_stages.h"
#include "server/executor.h"

namespace edgekiln::server {

class JobManagerTest : public testing::Test {
 protected:
  JobManagerTest() {
    blobs_ = *cache::OpenDiskBlobStore(*files_, folder_ + "/blobs");
    results_ = *cache::OpenDiskStageResultStore(*files_, folder_ + "/results",
                                                *blobs_);
    leases_ = std::make_unique<FakeLeases>(*blobs_);
    stages_ =
        std::make_unique<StageRunner>(*results_, *blobs_, *leases_, *log_);
    store_ = *JobStore::Open(folder_ + "/jobs.db");
    NewManager();
  }

  // With options_, on what the last one has stored. It is not started.
  void NewManager() {
    manager_.reset();
    journal_ = std::make_unique<JobJournal>(*store_, clock_, *log_);
    manager_ = std::make_unique<JobManager>(options_, *store_, *journal_,
                                            *stages_, *executor_, *blobs_,
                                            *space_, clock_, *log_);
  }

  v1::CreateJobRequest Request(const std::string& model = "int8 net",
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

  // As a daemon that died left it.
  void Left(const std::string& id, const v1::CreateJobRequest& request,
            v1::JobState state) {
    JobUpdate update;
    update.job_id = id;
    update.is_new = true;
    update.has_job = true;
    update.job.set_id(id);
    update.job.set_state(state);
    *update.job.mutable_request() = request;
    update.job.mutable_created()->set_seconds(1);
    update.events.emplace_back().set_sequence(1);
    EXPECT_TRUE(store_->Apply({update}).ok());
  }

  // Blocks until the job is over.
  v1::Job AtItsEnd(const std::string& id) {
    int64_t seen = 0;
    while (journal_->WaitForEvents(id, seen, absl::Seconds(30)) ==
           JobJournal::News::kEvents) {
      seen = store_->Get(id)->last_sequence();
    }
    return *store_->Get(id);
  }

  const std::string folder_ = NewFolder();
  const std::unique_ptr<FileSystem> files_ = NewPosixFileSystem();
  const std::unique_ptr<Logger> log_ = NewNullLogger();
  FakeClock clock_;
  JobManagerOptions options_;
  int64_t free_bytes_ = 1 << 30;
  const std::unique_ptr<cache::DiskSpace> space_ =
      cache::NewDiskSpace(folder_, 0, [this] { return free_bytes_; });
  std::unique_ptr<cache::BlobStore> blobs_;
  std::unique_ptr<cache::StageResultStore> results_;
  std::unique_ptr<FakeLeases> leases_;
  std::unique_ptr<StageRunner> stages_;
  const std::unique_ptr<Executor> executor_ = *Executor::New(4);
  std::unique_ptr<JobStore> store_;
  std::unique_ptr<JobJournal> journal_;
  std::unique_ptr<JobManager> manager_;

 private:
  static std::string NewFolder() {
    const auto& test = *testing::UnitTest::GetInstance()->current_test_info();
    const std::string folder =
        testing::TempDir() + test.test_suite_name() + "_" + test.name();
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder);
    return folder;
  }
};

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_JOBS_TESTING_JOB_MANAGER_FIXTURE_H_
