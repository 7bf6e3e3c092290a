#include "server/daemon/jobs/job_store.h"

#include <cstdio>
#include <future>
#include <string>

#include "base/error.h"
#include "base/log.h"
#include "gtest/gtest.h"
#include "server/daemon/jobs/job_journal.h"

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

  static JobUpdate Creation(const v1::Job& job) {
    JobUpdate update;
    update.job_id = job.id();
    update.is_new = true;
    update.has_job = true;
    update.job = job;
    update.events = {Event(1)};
    return update;
  }

  absl::Status Create(const std::string& id,
                      const std::string& request_id = "") {
    return store_->Apply({Creation(NewJob(id, request_id))});
  }

  // A job that ended then, with three events and a report.
  absl::Status CreateFinished(const std::string& id, absl::Time finished) {
    v1::Job job = NewJob(id, "request " + id);
    job.set_state(v1::SUCCEEDED);
    job.set_reports(1);
    job.mutable_finished()->set_seconds(absl::ToUnixSeconds(finished));
    JobUpdate update = Creation(job);
    update.events = {Event(1), Event(2), Event(3)};
    update.reports.resize(1);
    return store_->Apply({update});
  }

  // Ids of all jobs, oldest first.
  std::string Ids() {
    std::string ids;
    const absl::StatusOr<JobPage> page = store_->List(1000, 0);
    if (!page.ok()) return "error";
    for (const v1::Job& job : page->jobs) ids.insert(0, job.id());
    return ids;
  }

  const std::string path_;
  std::unique_ptr<JobStore> store_;
};

TEST_F(JobStoreTest, KeepsEverythingAcrossReopening) {
  ASSERT_TRUE(Create("a").ok());
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
  v1::Report report;
  ASSERT_TRUE(report.ParseFromString(**store_->GetReport("a", 1)));
  EXPECT_EQ(report.target_name(), "second");
  EXPECT_EQ(store_->Events("a", 1, 10)->size(), 2u);
  EXPECT_EQ(store_->Events("a", 1, 1)->front().sequence(), 2);
  EXPECT_TRUE(store_->Unfinished()->empty());
}

TEST_F(JobStoreTest, SaysWhatItDoesNotHave) {
  ASSERT_TRUE(Create("a").ok());
  EXPECT_TRUE(absl::IsNotFound(store_->Get("b").status()));
  EXPECT_TRUE(absl::IsNotFound(store_->GetReport("a", 0).status()));
  EXPECT_TRUE(store_->Events("b", 0, 10)->empty());
}

TEST_F(JobStoreTest, FindsJobsByRequestAndMakesNoSecond) {
  ASSERT_TRUE(Create("a", "r1").ok());
  Reopen();
  EXPECT_EQ((*store_->FindByRequest("r1"))->id(), "a");
  EXPECT_EQ((*store_->FindByRequest("r1"))->last_sequence(), 1);
  EXPECT_FALSE(store_->FindByRequest("r2")->has_value());
  EXPECT_FALSE(Create("b", "r1").ok());
  // An empty id is no id.
  EXPECT_TRUE(Create("d").ok());
  EXPECT_TRUE(Create("e").ok());
  EXPECT_EQ(Ids(), "ade");
}

TEST_F(JobStoreTest, AFinishedJobIsReadyToBeSent) {
  ASSERT_TRUE(Create("a").ok());
  EXPECT_EQ(*store_->FinishedJob("a"), nullptr);
  EXPECT_TRUE(absl::IsNotFound(store_->FinishedJob("b").status()));
  JobUpdate update;
  update.job_id = "a";
  update.events = {Event(2)};
  update.has_job = true;
  update.job = NewJob("a");
  update.job.set_state(v1::FAILED);
  ASSERT_TRUE(store_->Apply({update}).ok());
  for (int i = 0; i < 2; ++i) {
    const absl::StatusOr<Answer> answer = store_->FinishedJob("a");
    ASSERT_TRUE(answer.ok());
    v1::Job job;
    ASSERT_TRUE(job.ParseFromString(**answer));
    EXPECT_EQ(job.state(), v1::FAILED);
    EXPECT_EQ(job.last_sequence(), 2);
  }
}

TEST_F(JobStoreTest, ForgetsTheOldestBeyondTheNumberOrTheAge) {
  const absl::Time now = absl::FromUnixSeconds(1'000'000'000);
  const Retention two{
      .max_jobs = 2, .max_age = absl::Hours(24), .grace = absl::Minutes(10)};
  struct {
    const char* name;
    std::vector<int> minutes_ago;  // When jobs a, b, c, ... ended.
    const char* left;
  } const kCases[] = {
      {"few and young", {30, 20}, "ab"},
      {"too many", {60, 50, 40, 30}, "cd"},
      {"too old", {3000, 30}, "b"},
      {"all too old", {3000, 2000}, ""},
      {"many, but just ended", {5, 4, 3, 2}, "abcd"},
      {"long ones that just ended", {5, 60, 50, 40}, "ad"},
  };
  for (const auto& test : kCases) {
    SCOPED_TRACE(test.name);
    store_.reset();
    for (const char* suffix : {"", "-wal", "-shm"}) {
      std::remove((path_ + suffix).c_str());
    }
    Reopen();
    std::string id = "a";
    for (const int minutes : test.minutes_ago) {
      ASSERT_TRUE(CreateFinished(id, now - absl::Minutes(minutes)).ok());
      ASSERT_TRUE(store_->FinishedJob(id).ok());
      ++id[0];
    }
    const absl::StatusOr<int> forgotten = store_->Forget(two, now);
    ASSERT_TRUE(forgotten.ok()) << forgotten.status();
    EXPECT_EQ(Ids(), test.left);
    EXPECT_EQ(*forgotten + Ids().size(), test.minutes_ago.size());
    EXPECT_EQ(*store_->Forget(two, now), 0);
  }
}

TEST_F(JobStoreTest, NothingIsLeftOfAForgottenJob) {
  const absl::Time now = absl::FromUnixSeconds(1'000'000'000);
  ASSERT_TRUE(CreateFinished("a", now - absl::Hours(9)).ok());
  ASSERT_TRUE(Create("b", "r").ok());  // Unfinished ones are never forgotten.
  ASSERT_TRUE(store_->FinishedJob("a").ok());
  ASSERT_TRUE(store_->GetReport("a", 0).ok());
  EXPECT_EQ(*store_->Forget({.max_jobs = 0, .max_age = absl::Hours(1)}, now),
            1);
  EXPECT_EQ(Ids(), "b");
  EXPECT_TRUE(absl::IsNotFound(store_->FinishedJob("a").status()));
  EXPECT_TRUE(absl::IsNotFound(store_->GetReport("a", 0).status()));
  EXPECT_TRUE(store_->Events("a", 0, 10)->empty());
  EXPECT_TRUE(Create("c", "request a").ok());
}

TEST_F(JobStoreTest, AFailedBatchLeavesNothing) {
  ASSERT_TRUE(Create("a").ok());
  JobUpdate good;
  good.job_id = "a";
  good.events = {Event(2)};
  JobUpdate doubled;  // The same job again.
  doubled.job_id = "a";
  doubled.is_new = true;
  doubled.has_job = true;
  doubled.job.set_id("a");
  EXPECT_FALSE(store_->Apply({good, doubled}).ok());
  EXPECT_EQ(store_->Events("a", 0, 10)->size(), 1u);
  EXPECT_TRUE(store_->Apply({good}).ok());
}

TEST_F(JobStoreTest, PagesNewestFirst) {
  for (const char* id : {"a", "b", "c", "d", "e"}) {
    ASSERT_TRUE(Create(id).ok());
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
  FakeClock clock;
  const auto log = NewNullLogger();
  int created = 0;
  int finished = 0;
  {
    JobJournal journal(*store_, clock, *log);
    journal.Create(NewJob("a"), v1::JobEvent(),
                   [&](const absl::Status& status) { created += status.ok(); });
    for (int i = 0; i < 100; ++i) journal.Append("a", v1::JobEvent());
    journal.Append("unknown", v1::JobEvent());
    v1::Job job = NewJob("a");
    job.set_state(v1::FAILED);
    journal.Finish(job, {v1::Report()}, v1::JobEvent(),
                   [&](const absl::Status&) { ++finished; });
    journal.Append("a", v1::JobEvent());  // Too late: dropped.
    journal.Flush();
    EXPECT_EQ(created, 1);
    EXPECT_EQ(finished, 1);
    EXPECT_EQ(journal.WaitForEvents("a", 102, absl::Hours(1)),
              JobJournal::News::kEnded);
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

// Its sweep goes on once they are durable, without anybody who asks for it.
TEST_F(JobStoreTest, BeginningAndEndOfACellAreWrittenSoon) {
  FakeClock clock;
  const auto log = NewNullLogger();
  JobJournal journal(*store_, clock, *log);
  std::promise<absl::Status> created;
  std::promise<absl::Status> finished;
  const std::string cell = "sweep/j0123456789abcdef/7";
  journal.Create(
      NewJob("a", cell), v1::JobEvent(),
      [&](const absl::Status& status) { created.set_value(status); });
  EXPECT_TRUE(created.get_future().get().ok());
  journal.Append("a", v1::JobEvent());
  v1::Job job = NewJob("a", cell);
  job.set_state(v1::FAILED);
  journal.Finish(job, {}, v1::JobEvent(), [&](const absl::Status& status) {
    finished.set_value(status);
  });
  EXPECT_TRUE(finished.get_future().get().ok());
  EXPECT_EQ(store_->Get("a")->state(), v1::FAILED);
  EXPECT_EQ(store_->Events("a", 0, 10)->size(), 3u);
}

// Those of one job in a row are one entry.
TEST_F(JobStoreTest, EventsOfTwoJobsKeepTheirOrder) {
  FakeClock clock;
  const auto log = NewNullLogger();
  JobJournal journal(*store_, clock, *log);
  ASSERT_TRUE(Create("a").ok());
  ASSERT_TRUE(Create("b").ok());
  journal.Track("a", 1);
  journal.Track("b", 1);
  for (const char* const job : {"a", "a", "b", "a", "b", "b"}) {
    journal.Append(job, v1::JobEvent());
  }
  journal.Flush();
  for (const char* const job : {"a", "b"}) {
    const auto events = store_->Events(job, 1, 10);
    ASSERT_EQ(events->size(), 3u) << job;
    for (int64_t i = 0; i < 3; ++i) {
      EXPECT_EQ((*events)[static_cast<size_t>(i)].sequence(), i + 2);
    }
  }
}

TEST_F(JobStoreTest, JournalSaysWhatIsDurable) {
  FakeClock clock;
  const auto log = NewNullLogger();
  JobJournal journal(*store_, clock, *log);
  ASSERT_TRUE(Create("a").ok());
  journal.Track("a", 1);
  using News = JobJournal::News;
  EXPECT_EQ(journal.WaitForEvents("a", 0, absl::Hours(1)), News::kEvents);
  EXPECT_EQ(journal.WaitForEvents("a", 1, absl::ZeroDuration()), News::kNone);
  EXPECT_EQ(journal.WaitForEvents("b", 0, absl::Hours(1)), News::kEnded);
  journal.Append("a", v1::JobEvent());
  EXPECT_EQ(journal.WaitForEvents("a", 1, absl::Hours(1)), News::kEvents);
  EXPECT_EQ(store_->Events("a", 1, 10)->size(), 1u);
}

TEST_F(JobStoreTest, JournalRefusesAJobThatCannotBeStoredAndKeepsTheRest) {
  FakeClock clock;
  const auto log = NewNullLogger();
  JobJournal journal(*store_, clock, *log);
  ASSERT_TRUE(Create("a", "taken").ok());
  journal.Track("a", 1);
  absl::Status doubled;
  absl::Status late;
  journal.Append("a", v1::JobEvent());
  journal.Create(NewJob("b", "taken"), v1::JobEvent(),
                 [&](const absl::Status& status) { doubled = status; });
  journal.Flush();
  EXPECT_FALSE(doubled.ok());
  EXPECT_EQ(Ids(), "a");
  EXPECT_EQ(store_->Events("a", 0, 10)->size(), 2u);
  journal.Stop();
  journal.Create(NewJob("c"), v1::JobEvent(),
                 [&](const absl::Status& status) { late = status; });
  EXPECT_TRUE(absl::IsUnavailable(late)) << late;
  journal.Flush();  // Nothing to wait for.
}

// Whoever watches it must not wait for a job that there is not.
TEST_F(JobStoreTest, AJobThatCameAfterTheEndIsNotKnown) {
  FakeClock clock;
  const auto log = NewNullLogger();
  JobJournal journal(*store_, clock, *log);
  journal.Stop();
  absl::Status answer;
  journal.Create(NewJob("late"), Event(1),
                 [&](const absl::Status& status) { answer = status; });
  EXPECT_TRUE(absl::IsUnavailable(answer)) << answer;
  EXPECT_EQ(journal.WaitForEvents("late", 0, absl::ZeroDuration()),
            JobJournal::News::kEnded);
}

}  // namespace
}  // namespace edgekiln::server
