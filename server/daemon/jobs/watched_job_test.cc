#include "server/daemon/jobs/watched_job.h"

#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/clock.h"
#include "base/log.h"
#include "edgekiln/v1/jobs.pb.h"
#include "gtest/gtest.h"
#include "server/daemon/jobs/job_journal.h"
#include "server/daemon/jobs/job_store.h"

namespace edgekiln::server {
namespace {

constexpr size_t kAll = 1000;
// What the header promises.
constexpr size_t kKeptBytes = size_t{64} << 10;

std::vector<int64_t> SequencesOf(const WatchedJob::Events& events) {
  std::vector<int64_t> sequences;
  sequences.reserve(events.size());
  for (const auto& event : events) sequences.push_back(event->sequence);
  return sequences;
}

std::vector<int64_t> FromTo(int64_t first, int64_t last) {
  std::vector<int64_t> sequences;
  for (int64_t i = first; i <= last; ++i) sequences.push_back(i);
  return sequences;
}

// A stored job with an event of about 10 KB for each sequence number up to 20.
class WatchedJobTest : public testing::Test {
 protected:
  static constexpr int64_t kLast = 20;

  WatchedJobTest() {
    const std::string folder =
        testing::TempDir() + "watched_job_" +
        testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder);
    store_ = *JobStore::Open(folder + "/jobs.db");
    const auto clock = NewRealClock();
    const auto log = NewNullLogger();
    JobJournal journal(*store_, *clock, *log);
    v1::Job job;
    job.set_id("job");
    job.set_state(v1::QUEUED);
    v1::JobEvent event;
    event.mutable_waiting()->set_reason(std::string(10'000, 'x'));
    journal.Create(job, event, [](const absl::Status&) {});
    for (int64_t i = 2; i < kLast; ++i) journal.Append("job", event);
    job.set_state(v1::SUCCEEDED);
    v1::JobEvent last;
    last.set_state(v1::SUCCEEDED);
    journal.Finish(job, {}, last, nullptr);
    journal.Stop();
    watched_ = std::make_unique<WatchedJob>("job", *store_);
  }

  WatchedJob::Events After(int64_t after, size_t limit = kAll) {
    auto events = watched_->After(after, limit);
    EXPECT_TRUE(events.ok()) << events.status();
    return events.ok() ? *std::move(events) : WatchedJob::Events{};
  }

  std::unique_ptr<JobStore> store_;
  std::unique_ptr<WatchedJob> watched_;
};

TEST_F(WatchedJobTest, HasEachEventOnceAndInOrder) {
  const WatchedJob::Events all = After(0);
  EXPECT_EQ(SequencesOf(all), FromTo(1, kLast));
  for (const auto& event : all) EXPECT_EQ(event->is_end, event == all.back());
  EXPECT_EQ(SequencesOf(After(3, 2)), FromTo(4, 5));
  EXPECT_TRUE(After(kLast).empty());
}

TEST_F(WatchedJobTest, IsReadOnceForAllWatchers) {
  const WatchedJob::Events first = After(0, 3);
  // The very same ones, not others that were read again.
  EXPECT_EQ(After(0, 3), first);
  EXPECT_EQ(After(1, 1), WatchedJob::Events{first[1]});
}

TEST_F(WatchedJobTest, KeepsTheLatestEventsOfABoundedSize) {
  const WatchedJob::Events all = After(0);
  const std::set<std::shared_ptr<const WatchedJob::Event>> read(all.begin(),
                                                                all.end());
  size_t kept_bytes = 0;
  int64_t oldest = kLast + 1;
  // Backwards, as reading what is not kept must not change what is.
  for (int64_t sequence = kLast; sequence > 0; --sequence) {
    const WatchedJob::Events one = After(sequence - 1, 1);
    ASSERT_EQ(SequencesOf(one), FromTo(sequence, sequence));
    if (read.count(one[0]) == 0) break;
    kept_bytes += one[0]->bytes.Length();
    oldest = sequence;
  }
  EXPECT_LE(kept_bytes, kKeptBytes);
  ASSERT_GT(oldest, 1);
  // One more would not have fitted.
  EXPECT_GT(kept_bytes + all[static_cast<size_t>(oldest - 2)]->bytes.Length(),
            kKeptBytes);
}

TEST_F(WatchedJobTest, WhoLagsBehindReadsTheStoreAndTakesNothingFromOthers) {
  const WatchedJob::Events all = After(0);
  const WatchedJob::Events late = After(0, 2);
  EXPECT_EQ(SequencesOf(late), FromTo(1, 2));
  EXPECT_NE(late[0], all[0]);
  EXPECT_EQ(After(kLast - 1), WatchedJob::Events{all.back()});
}

TEST_F(WatchedJobTest, WhatIsKeptHasNoGaps) {
  EXPECT_EQ(SequencesOf(After(0, 2)), FromTo(1, 2));
  // Somebody who resumes begins later.
  EXPECT_EQ(SequencesOf(After(10, 2)), FromTo(11, 12));
  EXPECT_EQ(SequencesOf(After(0, 4)), FromTo(1, 4));
  EXPECT_EQ(SequencesOf(After(10, 4)), FromTo(11, 12));
}

TEST_F(WatchedJobTest, AJobThatIsUnknownHasNoEvents) {
  WatchedJob unknown("nobody knows", *store_);
  const auto events = unknown.After(0, kAll);
  ASSERT_TRUE(events.ok()) << events.status();
  EXPECT_TRUE(events->empty());
}

}  // namespace
}  // namespace edgekiln::server
