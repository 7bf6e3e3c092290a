#include "server/daemon/jobs/job_manager.h"

#include <algorithm>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "gtest/gtest.h"
#include "server/daemon/jobs/testing/job_manager_fixture.h"
#include "tests/support/process_threads.h"

namespace edgekiln::server {
namespace {

TEST_F(JobManagerTest, RefusesJobsWhileTheDiskIsFull) {
  ASSERT_TRUE(manager_->Start().ok());
  free_bytes_ = 0;
  const absl::Status refused = Create(Request()).status();
  EXPECT_TRUE(absl::IsResourceExhausted(refused));
  EXPECT_EQ(GetErrorDetail(refused)->reason, "DISK_FULL");
  free_bytes_ = 1 << 30;
  EXPECT_TRUE(Create(Request()).ok());
}

TEST_F(JobManagerTest, RunsAJobToItsEnd) {
  ASSERT_TRUE(manager_->Start().ok());
  const absl::StatusOr<v1::Job> job = Create(Request());
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_EQ(job->state(), v1::QUEUED);
  EXPECT_EQ(job->last_sequence(), 1);
  EXPECT_EQ(AtItsEnd(job->id()).state(), v1::SUCCEEDED);
}

TEST_F(JobManagerTest, JobsAreRefusedBeforeTheyAreStored) {
  ASSERT_TRUE(manager_->Start().ok());
  v1::CreateJobRequest request = Request();
  request.mutable_slot();
  EXPECT_EQ(GetErrorDetail(Create(request).status())->reason, "BAD_SLOT");
  request = Request();
  request.mutable_model()->set_hash(std::string(64, '0'));
  request.set_request_id("r");
  EXPECT_EQ(GetErrorDetail(Create(request).status())->reason, "BLOB_MISSING");
  EXPECT_TRUE(store_->List(10, 0)->jobs.empty());
  // The id of a refused request is free.
  request = Request();
  request.set_request_id("r");
  EXPECT_TRUE(Create(request).ok());
  manager_->Stop();
  request.set_request_id("s");
  EXPECT_EQ(GetErrorDetail(Create(request).status())->reason, "SHUTTING_DOWN");
}

TEST_F(JobManagerTest, AFullQueueRefuses) {
  options_.max_running = 0;
  options_.max_queued = 2;
  NewManager();
  ASSERT_TRUE(manager_->Start().ok());
  EXPECT_TRUE(Create(Request()).ok());
  EXPECT_TRUE(Create(Request()).ok());
  EXPECT_EQ(GetErrorDetail(Create(Request()).status())->reason, "QUEUE_FULL");
}

// A crash may lie between storing the newer job and cancelling the older.
TEST_F(JobManagerTest, SlotsAreClearedAfterACrash) {
  v1::CreateJobRequest request = Request();
  request.mutable_slot()->set_name("pane");
  Left("older", request, v1::RUNNING);
  Left("free", Request(), v1::RUNNING);
  Left("newer", request, v1::RUNNING);
  ASSERT_TRUE(manager_->Start().ok());
  const v1::Job older = AtItsEnd("older");
  EXPECT_EQ(older.state(), v1::CANCELLED);
  EXPECT_EQ(older.superseded_by(), "newer");
  EXPECT_EQ(AtItsEnd("newer").state(), v1::SUCCEEDED);
  EXPECT_EQ(AtItsEnd("free").state(), v1::SUCCEEDED);
}

// The last reason to wait that the job has told.
v1::JobEvent::Waiting LastWaiting(JobStore& store, const std::string& id) {
  v1::JobEvent::Waiting last;
  const absl::StatusOr<std::vector<v1::JobEvent>> events =
      store.Events(id, 0, 1000);
  if (!events.ok()) return last;
  for (const v1::JobEvent& event : *events) {
    if (event.has_waiting()) last = event.waiting();
  }
  return last;
}

TEST_F(JobManagerTest, AQueuedJobSaysHowManyAreBefore) {
  options_.max_running = 1;
  NewManager();
  leases_->Block("import");
  ASSERT_TRUE(manager_->Start().ok());
  ASSERT_TRUE(Create(Request("int8 first")).ok());
  ASSERT_TRUE(Create(Request("int8 second")).ok());
  const std::string last = Create(Request("int8 third"))->id();
  manager_->Tick();
  const auto waiting = [&] {
    journal_->Flush();
    return LastWaiting(*store_, last);
  };
  EXPECT_EQ(waiting().reason(), "");  // It has just come.
  clock_.Advance(absl::Seconds(2));
  // Until the first one has been taken from the queue.
  while (waiting().position() != 2) {
    clock_.Advance(absl::Seconds(6));
    manager_->Tick();
  }
  EXPECT_EQ(waiting().cause(), v1::JobEvent::Waiting::JOBS_AHEAD);
}

// One counts while no worker has a stage of the job, the other from the first
// that had one.
TEST_F(JobManagerTest, DeadlinesOfQueueAndRunAreApart) {
  struct {
    const char* name;
    const char* stage;  // The first one that does not end.
    bool leased;
    int seconds;  // Since then.
    const char* reason;
  } const kCases[] = {
      {"waits", "import", false, 9, ""},
      {"waits too long", "import", false, 11, "QUEUE_DEADLINE"},
      {"runs", "import", true, 19, ""},
      {"runs too long", "import", true, 21, "RUN_DEADLINE"},
      {"waits again", "simplify", false, 9, ""},
      {"waits again too long", "simplify", false, 11, "QUEUE_DEADLINE"},
      {"runs again", "simplify", true, 19, ""},
  };
  ASSERT_TRUE(manager_->Start().ok());
  for (const auto& test : kCases) {
    SCOPED_TRACE(test.name);
    leases_->Block(test.stage, test.leased);
    // Nothing that a worker could have begun with but the import.
    v1::CreateJobRequest request =
        Request(std::string("int8 ") + test.name, v1::INSPECT);
    request.mutable_options()->mutable_queue_deadline()->set_seconds(10);
    request.mutable_options()->mutable_run_deadline()->set_seconds(20);
    const bool begun = test.leased || test.stage != std::string("import");
    const std::string id = Create(request)->id();
    while (begun && !leases_->Blocks()) {
    }
    clock_.Advance(absl::Seconds(test.seconds));
    manager_->Tick();
    journal_->Flush();
    if (test.reason[0] == '\0') {
      EXPECT_EQ(manager_->Get(id)->state(), begun ? v1::RUNNING : v1::QUEUED);
      EXPECT_TRUE(manager_->Cancel(id).ok());
      EXPECT_EQ(AtItsEnd(id).error().reason(), "CANCELLED");
    } else {
      EXPECT_EQ(AtItsEnd(id).state(), v1::FAILED);
      EXPECT_EQ(AtItsEnd(id).error().reason(), test.reason);
    }
  }
}

// What one target's stage does is not what the other's of that name does.
TEST_F(JobManagerTest, AJobOfTwoTargetsWaitsForNoneWhileOneIsAtAWorker) {
  ASSERT_TRUE(manager_->Start().ok());
  leases_->Block("tile", /*leased=*/true);
  const std::string other = Create(Request())->id();
  while (!leases_->Blocks()) {
  }
  leases_->Block("");
  v1::CreateJobRequest request = Request();
  *request.add_targets()->mutable_digest() = PutText(*blobs_, "conv;sram=32");
  request.mutable_options()->mutable_queue_deadline()->set_seconds(10);
  const std::string id = Create(request)->id();
  // The first target's tile is that of the other job; the second is done.
  const auto told = [&](const auto& is) {
    journal_->Flush();
    const auto events = store_->Events(id, 0, 1000);
    return events.ok() && std::any_of(events->begin(), events->end(), is);
  };
  while (!told([](const v1::JobEvent& event) {
    return event.stage_started().name() == "tile" &&
           event.stage_started().target() == 0;
  })) {
  }
  while (!told([](const v1::JobEvent& event) {
    return event.stage_finished().name() == "bundle";
  })) {
  }
  clock_.Advance(absl::Seconds(11));
  manager_->Tick();
  journal_->Flush();
  EXPECT_EQ(manager_->Get(id)->state(), v1::RUNNING);
  EXPECT_TRUE(manager_->Cancel(id).ok());
  EXPECT_EQ(AtItsEnd(id).error().reason(), "CANCELLED");
}

// What brought the daemon down at every start: jobs whose targets all wait.
// They take no threads, can be interrupted in the middle, run again in the next
// life, and be cancelled there.
TEST_F(JobManagerTest, LargeJobsAreInterruptedRunAgainAndCancelled) {
  constexpr int kJobs = 4;
  constexpr int kTargets = 256;
  leases_->Block("tile", /*leased=*/true);
  ASSERT_TRUE(manager_->Start().ok());
  const int threads = tests::ThreadsOfThisProcess();
  std::vector<std::string> ids;
  for (int job = 0; job < kJobs; ++job) {
    v1::CreateJobRequest request = Request("int8 net " + std::to_string(job));
    for (int target = 1; target < kTargets; ++target) {
      *request.add_targets()->mutable_digest() =
          PutText(*blobs_, "conv;sram=" + std::to_string(target + 100));
    }
    ids.push_back(Create(request)->id());
  }
  while (leases_->Blocked() < kJobs * kTargets) std::this_thread::yield();
  EXPECT_EQ(tests::ThreadsOfThisProcess(), threads);
  manager_->Stop();
  EXPECT_EQ(leases_->Blocked(), 0);
  for (const std::string& id : ids) {
    EXPECT_EQ(store_->Get(id)->state(), v1::RUNNING);
  }
  NewManager();
  ASSERT_TRUE(manager_->Start().ok());
  while (leases_->Blocked() < kJobs * kTargets) std::this_thread::yield();
  EXPECT_EQ(tests::ThreadsOfThisProcess(), threads);
  for (const std::string& id : ids) {
    EXPECT_TRUE(manager_->Cancel(id).ok());
    EXPECT_EQ(AtItsEnd(id).state(), v1::CANCELLED);
  }
  EXPECT_EQ(leases_->Blocked(), 0);
}

// More jobs than run at once: each place is taken again, to the last job.
TEST_F(JobManagerTest, PlacesAreHandedOn) {
  options_.max_running = 2;
  NewManager();
  ASSERT_TRUE(manager_->Start().ok());
  std::vector<std::string> ids;
  for (int job = 0; job < 40; ++job) {
    ids.push_back(Create(Request("int8 net " + std::to_string(job)))->id());
  }
  for (const std::string& id : ids) {
    EXPECT_EQ(AtItsEnd(id).state(), v1::SUCCEEDED);
  }
  manager_->Stop();
}

TEST_F(JobManagerTest, OldJobsAreForgotten) {
  options_.retention.max_jobs = 1;
  NewManager();
  ASSERT_TRUE(manager_->Start().ok());
  v1::CreateJobRequest request = Request();
  request.set_request_id("r");
  const std::string first = Create(request)->id();
  AtItsEnd(first);
  const std::string second = Create(Request())->id();
  AtItsEnd(second);
  manager_->Tick();
  EXPECT_TRUE(manager_->Get(first).ok());  // Somebody may still ask for it.
  clock_.Advance(absl::Minutes(11));
  manager_->Tick();
  EXPECT_TRUE(absl::IsNotFound(manager_->Get(first).status()));
  EXPECT_TRUE(manager_->Get(second).ok());
  EXPECT_NE(Create(request)->id(), first);
}

}  // namespace
}  // namespace edgekiln::server
