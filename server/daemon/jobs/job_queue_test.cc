#include "server/daemon/jobs/job_queue.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace edgekiln::server {
namespace {

v1::CreateJobRequest Wants(v1::JobGoal goal,
                           v1::JobClass job_class = v1::JOB_CLASS_UNSPECIFIED) {
  v1::CreateJobRequest request;
  request.add_goals(goal);
  request.mutable_options()->set_job_class(job_class);
  return request;
}

constexpr absl::Duration kNow = absl::Hours(1);

TEST(JobQueueTest, AnInspectRunsAtOnceBehind60Jobs) {
  JobQueue queue(16);
  for (int i = 0; i < 60; ++i) {
    queue.Push(absl::StrCat(i), Wants(v1::VALIDATE), absl::StrCat("ci ", i % 2),
               kNow - absl::Minutes(30));
  }
  int running = 0;
  while (queue.Next(kNow).has_value()) ++running;
  EXPECT_EQ(running, 12);  // A quarter is kept.
  queue.Push("inspect", Wants(v1::INSPECT), "ci 0", kNow);
  EXPECT_EQ(queue.Next(kNow), "inspect");
  EXPECT_FALSE(queue.Next(kNow).has_value());
  // One of theirs ends, one of theirs begins.
  queue.Ended("0", kNow, true);
  EXPECT_EQ(queue.Next(kNow), "12");
  EXPECT_FALSE(queue.Next(kNow).has_value());
}

// Jobs of the night that wait for workers do not keep CI from running.
TEST(JobQueueTest, BatchLeavesRoomForCi) {
  JobQueue queue(16);
  for (int i = 0; i < 60; ++i) {
    queue.Push(absl::StrCat(i), Wants(v1::PROFILE, v1::BATCH),
               absl::StrCat("night ", i), kNow);
  }
  int running = 0;
  while (queue.Next(kNow).has_value()) ++running;
  EXPECT_EQ(running, 8);
  for (int i = 0; i < 5; ++i) {
    queue.Push(absl::StrCat("ci ", i), Wants(v1::PROFILE), absl::StrCat(i),
               kNow);
  }
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(queue.Next(kNow), absl::StrCat("ci ", i));
  }
  EXPECT_FALSE(queue.Next(kNow).has_value());
  // What ends is a place for CI first.
  queue.Ended("0", kNow, true);
  EXPECT_EQ(queue.Next(kNow), "ci 4");
  EXPECT_FALSE(queue.Next(kNow).has_value());
}

TEST(JobQueueTest, OneClientDoesNotOccupyAll) {
  JobQueue queue(16);
  for (int i = 0; i < 60; ++i) {
    queue.Push(absl::StrCat(i), Wants(v1::VALIDATE), "many", kNow);
  }
  int running = 0;
  while (queue.Next(kNow).has_value()) ++running;
  EXPECT_EQ(running, 6);
  queue.Push("single", Wants(v1::VALIDATE), "other", kNow);
  EXPECT_EQ(queue.Next(kNow), "single");
  EXPECT_FALSE(queue.Next(kNow).has_value());
  queue.Ended("3", kNow, true);
  EXPECT_EQ(queue.Next(kNow), "6");
  // Alone it may use one at least.
  JobQueue small(1);
  small.Push("a", Wants(v1::VALIDATE, v1::BATCH), "many", kNow);
  EXPECT_EQ(small.Next(kNow), "a");
}

TEST(JobQueueTest, NeverRunsMoreThanItMay) {
  JobQueue queue(2);
  for (int i = 0; i < 5; ++i) {
    queue.Push(absl::StrCat(i), Wants(v1::INSPECT), "me", kNow);
  }
  EXPECT_EQ(queue.Next(kNow), "0");
  EXPECT_EQ(queue.Next(kNow), "1");
  EXPECT_FALSE(queue.Next(kNow).has_value());
  EXPECT_TRUE(queue.Remove("2"));
  EXPECT_FALSE(queue.Remove("2"));
  EXPECT_FALSE(queue.Remove("0"));  // It runs.
  queue.Ended("0", kNow, true);
  queue.Ended("0", kNow, true);
  EXPECT_EQ(queue.Next(kNow), "3");
  EXPECT_FALSE(queue.Next(kNow).has_value());
  EXPECT_EQ(queue.size(), 1u);
}

TEST(JobQueueTest, AClientWith60JobsDoesNotHoldUpAnothersSingleOne) {
  JobQueue queue(1);
  for (int i = 0; i < 60; ++i) {
    queue.Push(absl::StrCat(i), Wants(v1::COMPILE), "many", kNow);
  }
  queue.Push("single", Wants(v1::COMPILE), "other", kNow);
  queue.Push("night", Wants(v1::COMPILE, v1::BATCH), "third", kNow);
  std::vector<std::string> order;
  for (int i = 0; i < 3; ++i) {
    order.push_back(*queue.Next(kNow));
    queue.Ended(order.back(), kNow, true);
  }
  EXPECT_EQ(order, (std::vector<std::string>{"0", "single", "1"}));
}

TEST(JobQueueTest, AClientWithManyDoesNotKeepOthersOut) {
  JobQueue queue(0);
  int many = 0;
  while (queue.HasRoom("many", 1000, 0, 0)) {
    queue.Push(absl::StrCat(many++), Wants(v1::COMPILE), "many", kNow);
  }
  EXPECT_EQ(many, 750);
  EXPECT_TRUE(queue.HasRoom("other", 1000, 0, 0));
  EXPECT_FALSE(queue.HasRoom("other", 1000, 20, 20));  // On their way.
  EXPECT_FALSE(queue.HasRoom("other", 1000, 250, 0));
  int few = 0;
  while (queue.HasRoom("other", 1000, 0, 0)) {
    queue.Push(absl::StrCat("few ", few++), Wants(v1::COMPILE), "other", kNow);
  }
  EXPECT_EQ(few, 15);
  for (int i = 0; i < 16; ++i) EXPECT_TRUE(queue.Remove(absl::StrCat(i)));
  EXPECT_TRUE(queue.HasRoom("many", 1000, 0, 0));
  EXPECT_FALSE(JobQueue(0).HasRoom("any", 0, 0, 0));
}

TEST(JobQueueTest, TellsPlacesAndWhenTheirTurnMayCome) {
  JobQueue queue(1);
  queue.Push("a", Wants(v1::COMPILE), "me", kNow);
  queue.Push("b", Wants(v1::COMPILE), "me", kNow);
  queue.Push("c", Wants(v1::COMPILE), "me", kNow);
  ASSERT_EQ(queue.Next(kNow), "a");
  EXPECT_FALSE(queue.Places(kNow)[0].eta.has_value());
  queue.Ended("a", kNow + absl::Seconds(20), true);
  ASSERT_EQ(queue.Next(kNow + absl::Seconds(20)), "b");
  queue.Push("d", Wants(v1::COMPILE), "me", kNow);
  const std::vector<JobQueue::Place> places =
      queue.Places(kNow + absl::Seconds(25));
  ASSERT_EQ(places.size(), 2u);
  EXPECT_EQ(places[0].id, "c");
  EXPECT_EQ(places[0].position, 1);
  EXPECT_EQ(places[0].eta, absl::Seconds(15));
  EXPECT_EQ(places[1].position, 2);
  EXPECT_EQ(places[1].eta, absl::Seconds(35));
  EXPECT_EQ(queue.UntilNext(kNow + absl::Seconds(25)), absl::Seconds(15));
}

// Jobs that fail at once say nothing of how long others take.
TEST(JobQueueTest, FailuresTellNoTime) {
  JobQueue queue(1);
  queue.Push("a", Wants(v1::COMPILE), "me", kNow);
  queue.Push("b", Wants(v1::COMPILE), "me", kNow);
  queue.Push("c", Wants(v1::COMPILE), "me", kNow);
  ASSERT_EQ(queue.Next(kNow), "a");
  queue.Ended("a", kNow, false);
  ASSERT_EQ(queue.Next(kNow), "b");
  EXPECT_FALSE(queue.Places(kNow)[0].eta.has_value());
}

}  // namespace
}  // namespace edgekiln::server
