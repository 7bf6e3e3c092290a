#include "server/daemon/jobs/recent_events.h"

#include <cstdint>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace edgekiln::server {
namespace {

using Sequences = std::vector<int64_t>;

std::vector<v1::JobEvent> Events(int64_t first, int64_t last,
                                 size_t bytes = 1) {
  std::vector<v1::JobEvent> events;
  for (int64_t i = first; i <= last; ++i) {
    v1::JobEvent& event = events.emplace_back();
    event.set_sequence(i);
    event.mutable_waiting()->set_reason(std::string(bytes, 'x'));
  }
  return events;
}

Sequences After(RecentEvents& recent, int64_t after, int limit = 100) {
  Sequences sequences;
  for (const v1::JobEvent& event : recent.After("job", after, limit)) {
    sequences.push_back(event.sequence());
  }
  return sequences;
}

TEST(RecentEventsTest, HasWhatFollowedJobsSayAndNothingElse) {
  RecentEvents recent;
  recent.Add("job", Events(1, 2));
  EXPECT_EQ(After(recent, 0), Sequences());
  recent.Follow("job");
  recent.Add("job", Events(3, 5));
  recent.Add("other", Events(6, 6));
  EXPECT_EQ(After(recent, 1), Sequences());  // 2 is not here.
  EXPECT_EQ(After(recent, 2), (Sequences{3, 4, 5}));
  EXPECT_EQ(After(recent, 4), (Sequences{5}));
  EXPECT_EQ(After(recent, 5), Sequences());
  EXPECT_EQ(After(recent, 9), Sequences());
  EXPECT_EQ(After(recent, 2, /*limit=*/2), (Sequences{3, 4}));
}

TEST(RecentEventsTest, ForgetsWithTheLastFollowerAndWithTheJob) {
  RecentEvents recent;
  recent.Follow("job");
  recent.Follow("job");
  recent.Add("job", Events(1, 1));
  recent.Unfollow("job");
  EXPECT_EQ(After(recent, 0), (Sequences{1}));
  recent.Drop("job");
  EXPECT_EQ(After(recent, 0), Sequences());
  recent.Add("job", Events(2, 2));
  EXPECT_EQ(After(recent, 1), (Sequences{2}));
  recent.Unfollow("job");
  EXPECT_EQ(After(recent, 1), Sequences());
}

TEST(RecentEventsTest, KeepsTheLatestWithoutGaps) {
  RecentEvents recent;
  recent.Follow("job");
  recent.Add("job", Events(1, 20, /*bytes=*/2'500));
  EXPECT_EQ(After(recent, 0), Sequences());
  EXPECT_EQ(After(recent, 14), (Sequences{15, 16, 17, 18, 19, 20}));
  EXPECT_EQ(After(recent, std::numeric_limits<int64_t>::max()), Sequences());
  recent.Add("job", Events(22, 22));
  EXPECT_EQ(After(recent, 19), Sequences());
  EXPECT_EQ(After(recent, 21), (Sequences{22}));
}

TEST(RecentEventsTest, AllJobsTogetherAreBounded) {
  RecentEvents recent;
  int kept = 0;
  for (int i = 0; i < 1000; ++i) {
    const std::string id = absl::StrCat("job", i);
    recent.Follow(id);
    recent.Add(id, Events(1, 5, /*bytes=*/2'500));
    kept += recent.After(id, 0, 100).empty() ? 0 : 1;
  }
  EXPECT_GT(kept, 50);
  EXPECT_LT(kept, 250);
  EXPECT_EQ(recent.After("job0", 0, 100).size(), 5u);
  recent.DropAll();
  EXPECT_TRUE(recent.After("job0", 0, 100).empty());
  recent.Add("job0", Events(6, 6));
  EXPECT_EQ(recent.After("job0", 5, 100).size(), 1u);
}

}  // namespace
}  // namespace edgekiln::server
