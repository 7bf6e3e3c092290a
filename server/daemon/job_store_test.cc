#include "server/daemon/job_store.h"

#include <cstdio>
#include <string>

#include "base/error.h"
#include "base/log.h"
#include "gtest/gtest.h"
#include "server/daemon/job_journal.h"

namespace edgekiln::server {
namespace {

class JobStoreTest : public testing::Test {
 protected:
  JobStoreTest()
      : path_(testing::TempDir() + "job_store_" +
              testing::UnitTest::GetInstance()->current_test_info()->name() +
              ".db") {
    for (const char* suffix : {"", "-wal", "-shm"}) {
      std::remove((path_ + suffix).c_str());
    }
    Reopen();
  }

  void Reopen() {
    store_.reset();
    absl::StatusOr<std::unique_ptr<JobStore>> store = JobStore::Open(path_);
    ASSERT_TRUE(store.ok()) << store.status();
    store_ = *std::move(store);
  }

  static v1::Job NewJob(const std::string& id,
                        const std::string& request_id = "") {
    v1::Job job;
    job.set_id(id);
    job.set_state(v1::QUEUED);
    job.mutable_request()->set_request_id(request_id);
    return job;
  }

  static v1::JobEvent Event(int64_t sequence) {
    v1::JobEvent event;
    event.set_sequence(sequence);
    event.set_state(v1::QUEUED);
    return event;
  }

  const std::string path_;
  std::unique_ptr<JobStore> store_;
};

TEST_F(JobStoreTest, KeepsEverythingAcrossReopening) {
  ASSERT_TRUE(store_->Create(NewJob("a"), Event(1)).ok());
  JobUpdate update;
  update.job_id = "a";
  update.events = {Event(2), Event(3)};
  update.has_job = true;
  update.job = NewJob("a");
  update.job.set_state(v1::SUCCEEDED);
  update.reports.resize(2);
  update.reports[1].set_target_name("second");
  ASSERT_TRUE(store_->Apply({update}).ok());
  Reopen();
  const absl::StatusOr<v1::Job> job = store_->Get("a");
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_EQ(job->state(), v1::SUCCEEDED);
  EXPECT_EQ(job->last_sequence(), 3);
  EXPECT_EQ(store_->GetReport("a", 1)->target_name(), "second");
  EXPECT_EQ(store_->Events("a", 1, 10)->size(), 2u);
  EXPECT_EQ(store_->Events("a", 1, 1)->front().sequence(), 2);
  EXPECT_TRUE(store_->Unfinished()->empty());
}

TEST_F(JobStoreTest, SaysWhatItDoesNotHave) {
  ASSERT_TRUE(store_->Create(NewJob("a"), Event(1)).ok());
  EXPECT_TRUE(absl::IsNotFound(store_->Get("b").status()));
  EXPECT_TRUE(absl::IsNotFound(store_->GetReport("a", 0).status()));
  EXPECT_TRUE(store_->Events("b", 0, 10)->empty());
}

TEST_F(JobStoreTest, CreatesOncePerRequestId) {
  ASSERT_TRUE(store_->Create(NewJob("a", "r1"), Event(1)).ok());
  Reopen();
  EXPECT_EQ(store_->Create(NewJob("b", "r1"), Event(1))->id(), "a");
  EXPECT_EQ(store_->Create(NewJob("c", "r2"), Event(1))->id(), "c");
  // An empty id is no id.
  EXPECT_EQ(store_->Create(NewJob("d"), Event(1))->id(), "d");
  EXPECT_EQ(store_->Create(NewJob("e"), Event(1))->id(), "e");
  EXPECT_TRUE(absl::IsNotFound(store_->Get("b").status()));
}

TEST_F(JobStoreTest, AFailedBatchLeavesNothing) {
  ASSERT_TRUE(store_->Create(NewJob("a"), Event(1)).ok());
  JobUpdate good;
  good.job_id = "a";
  good.events = {Event(2)};
  JobUpdate doubled = good;  // The same sequence again.
  EXPECT_FALSE(store_->Apply({good, doubled}).ok());
  EXPECT_EQ(store_->Events("a", 0, 10)->size(), 1u);
  EXPECT_TRUE(store_->Apply({good}).ok());
}

TEST_F(JobStoreTest, PagesNewestFirst) {
  for (const char* id : {"a", "b", "c", "d", "e"}) {
    ASSERT_TRUE(store_->Create(NewJob(id), Event(1)).ok());
  }
  std::string seen;
  int64_t next = 0;
  int pages = 0;
  do {
    const absl::StatusOr<JobPage> page = store_->List(2, next);
    ASSERT_TRUE(page.ok());
    for (const v1::Job& job : page->jobs) seen += job.id();
    next = page->next;
    ++pages;
  } while (next != 0 && pages < 10);
  EXPECT_EQ(seen, "edcba");
  EXPECT_EQ(pages, 3);
  EXPECT_EQ(store_->List(5, 0)->next, 0);
}

TEST_F(JobStoreTest, RefusesAFileOfANewerVersion) {
  store_.reset();
  absl::StatusOr<Database> database = Database::Open(path_);
  ASSERT_TRUE(database.ok());
  ASSERT_TRUE(database->Execute("PRAGMA user_version=99").ok());
  const absl::Status status = JobStore::Open(path_).status();
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(GetErrorDetail(status)->reason, "JOB_STORE_NEWER");
}

TEST_F(JobStoreTest, JournalNumbersEventsWithoutGaps) {
  ASSERT_TRUE(store_->Create(NewJob("a"), Event(1)).ok());
  FakeClock clock;
  const auto log = NewNullLogger();
  {
    JobJournal journal(*store_, clock, *log);
    journal.Track("a", 1);
    for (int i = 0; i < 100; ++i) journal.Append("a", v1::JobEvent());
    journal.Append("unknown", v1::JobEvent());
    v1::Job job = NewJob("a");
    job.set_state(v1::FAILED);
    journal.Finish(job, {v1::Report()}, v1::JobEvent());
    journal.Append("a", v1::JobEvent());  // Too late: dropped.
  }
  const absl::StatusOr<std::vector<v1::JobEvent>> events =
      store_->Events("a", 0, 1000);
  ASSERT_TRUE(events.ok());
  ASSERT_EQ(events->size(), 102u);
  for (size_t i = 0; i < events->size(); ++i) {
    EXPECT_EQ((*events)[i].sequence(), static_cast<int64_t>(i) + 1);
  }
  EXPECT_EQ(store_->Get("a")->state(), v1::FAILED);
  EXPECT_TRUE(store_->GetReport("a", 0).ok());
}

}  // namespace
}  // namespace edgekiln::server
