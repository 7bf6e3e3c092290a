#ifndef EK_SERVER_DAEMON_JOBS_TESTING_JOB_DAMAGE_FIXTURE_H_
#define EK_SERVER_DAEMON_JOBS_TESTING_JOB_DAMAGE_FIXTURE_H_

// A job store whose files the test damages.

#include <filesystem>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "server/daemon/jobs/job_store.h"
#include "server/daemon/jobs/sqlite.h"

namespace edgekiln::server {

class JobDamageTest : public testing::Test {
 protected:
  JobDamageTest()
      : folder_(testing::TempDir() + "job_damage_" +
                testing::UnitTest::GetInstance()->current_test_info()->name()),
        path_(folder_ + "/jobs.db") {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }

  absl::Status Open(bool expected = false) {
    store_.reset();
    absl::StatusOr<std::unique_ptr<JobStore>> store =
        JobStore::Open(path_, {.expected = expected});
    if (store.ok()) store_ = *std::move(store);
    return store.status();
  }

  static v1::Job NewJob(const std::string& id, v1::JobState state) {
    v1::Job job;
    job.set_id(id);
    job.set_state(state);
    job.mutable_created()->set_seconds(1000);
    job.mutable_request()->set_request_id("request " + id);
    job.mutable_request()->set_model_name("model " + id);
    return job;
  }

  absl::Status Add(const std::string& id, v1::JobState state) {
    JobUpdate update;
    update.job_id = id;
    update.is_new = true;
    update.has_job = true;
    update.job = NewJob(id, state);
    for (int i = 1; i <= 3; ++i) {
      v1::JobEvent event;
      event.set_sequence(i);
      event.set_state(i < 3 ? v1::QUEUED : state);
      update.events.push_back(event);
    }
    if (state >= v1::SUCCEEDED) {
      update.job.set_reports(1);
      update.reports.resize(1);
      update.reports[0].set_model_name("model " + id);
    }
    return store_->Apply({update});
  }

  // With the store closed.
  void Execute(const std::string& sql) {
    store_.reset();
    absl::StatusOr<Database> database = Database::Open(path_);
    ASSERT_TRUE(database.ok());
    const absl::Status done = database->Execute(sql);
    ASSERT_TRUE(done.ok()) << done;
  }

  std::string Listed() {
    std::string all;
    const absl::StatusOr<JobPage> page = store_->List(1000, 0);
    if (!page.ok()) return std::string(page.status().message());
    for (const v1::Job& job : page->jobs) {
      all = absl::StrCat(job.id(), ":", job.state(), " ", all);
    }
    return all;
  }

  const std::string folder_;
  const std::string path_;
  std::unique_ptr<JobStore> store_;
};

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_JOBS_TESTING_JOB_DAMAGE_FIXTURE_H_
