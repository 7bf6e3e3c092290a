#include "server/daemon/fairness/fair_queue.h"

#include <string>
#include <vector>

#include "base/rng.h"
#include "gtest/gtest.h"
#include "server/daemon/fairness/job_class.h"
#include "server/daemon/fairness/wait_estimate.h"

namespace edgekiln::server {
namespace {

bool All(v1::JobClass, int) { return true; }

class FairQueueTest : public testing::Test {
 protected:
  uint64_t Push(v1::JobClass job_class, const std::string& client,
                const std::string& job = "", int kind = 0) {
    const uint64_t id = next_++;
    queue_.Push(id, {.job_class = job_class,
                     .kind = kind,
                     .client = client,
                     .job = job,
                     .order = id,
                     .since = now_});
    return id;
  }
  uint64_t Pop() { return queue_.Pop(now_, All).value_or(0); }

  FairQueue queue_;
  absl::Duration now_ = absl::ZeroDuration();
  uint64_t next_ = 1;
};

TEST_F(FairQueueTest, OrdersByClassThenKind) {
  const uint64_t batch = Push(v1::BATCH, "a");
  const uint64_t simulate = Push(v1::CI, "a", "", 1);
  const uint64_t compile = Push(v1::CI, "a", "", 0);
  const uint64_t shown = Push(v1::INTERACTIVE, "a", "", 1);
  const std::vector<uint64_t> wanted = {shown, compile, simulate, batch};
  EXPECT_EQ(queue_.Order(now_), wanted);
  EXPECT_TRUE(queue_.HasAfter(v1::CI));
  EXPECT_FALSE(queue_.HasAfter(v1::BATCH));
  for (const uint64_t id : wanted) EXPECT_EQ(Pop(), id);
  EXPECT_EQ(Pop(), 0u);
  EXPECT_TRUE(queue_.empty());
}

TEST_F(FairQueueTest, AClientWithManyLetsAnotherGoSecond) {
  std::vector<uint64_t> many;
  for (int i = 0; i < 60; ++i) many.push_back(Push(v1::CI, "many"));
  const uint64_t single = Push(v1::CI, "single");
  EXPECT_EQ(Pop(), many[0]);
  EXPECT_EQ(Pop(), single);
  EXPECT_EQ(Pop(), many[1]);
  // Coming again means the end of the round, not its head.
  const uint64_t again = Push(v1::CI, "single");
  EXPECT_EQ(Pop(), many[2]);
  EXPECT_EQ(Pop(), again);
}

TEST_F(FairQueueTest, NewClientsNeverKeepAnOldOneWaiting) {
  const uint64_t first = Push(v1::CI, "old");
  const uint64_t second = Push(v1::CI, "old");
  EXPECT_EQ(Pop(), first);
  const uint64_t a = Push(v1::CI, "a");
  EXPECT_EQ(Pop(), second);
  EXPECT_EQ(Pop(), a);
}

TEST_F(FairQueueTest, JobsOfAClientTakeTurns) {
  std::vector<uint64_t> big;
  for (int i = 0; i < 4; ++i) big.push_back(Push(v1::CI, "a", "big"));
  const uint64_t small = Push(v1::CI, "a", "small");
  EXPECT_EQ(queue_.Order(now_),
            (std::vector<uint64_t>{big[0], small, big[1], big[2], big[3]}));
}

TEST_F(FairQueueTest, AnOverdueBacklogTakesEveryFourthTurnOnly) {
  std::vector<uint64_t> old;
  for (int i = 0; i < 3; ++i) old.push_back(Push(v1::BATCH, "b"));
  now_ += PatienceOf(v1::BATCH) + absl::Seconds(1);
  std::vector<uint64_t> shown;
  for (int i = 0; i < 9; ++i) shown.push_back(Push(v1::INTERACTIVE, "i"));
  std::vector<uint64_t> order;
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) order.push_back(shown[3 * i + j]);
    order.push_back(old[i]);
  }
  EXPECT_EQ(queue_.Order(now_), order);
}

// However much comes in classes before it.
TEST_F(FairQueueTest, NothingWaitsForEver) {
  const uint64_t batch = Push(v1::BATCH, "b");
  const uint64_t simulate = Push(v1::CI, "c", "", 1);
  int batch_turn = 0;
  int simulate_turn = 0;
  for (int turn = 1; turn <= 3000; ++turn) {
    now_ += absl::Seconds(1);
    Push(v1::INTERACTIVE, "i");
    Push(v1::CI, "d", "", 0);
    const uint64_t id = Pop();
    if (id == batch) batch_turn = turn;
    if (id == simulate) simulate_turn = turn;
  }
  EXPECT_GT(simulate_turn, 60);
  EXPECT_LE(simulate_turn, 60 + FairQueue::kTurnsToOverdue);
  EXPECT_GT(batch_turn, 600);
  // Compile stages of CI are overdue as well, some for longer.
  EXPECT_LE(batch_turn, 3000);
}

TEST_F(FairQueueTest, SkipsWhatMayNotGo) {
  const uint64_t shown = Push(v1::INTERACTIVE, "a", "", 1);
  const uint64_t ci = Push(v1::CI, "a", "", 0);
  EXPECT_EQ(queue_.Pop(now_, [](v1::JobClass, int kind) { return kind == 0; }),
            ci);
  EXPECT_FALSE(
      queue_.Pop(now_, [](v1::JobClass, int) { return false; }).has_value());
  EXPECT_EQ(Pop(), shown);
}

TEST_F(FairQueueTest, PromotesUpwardsOnly) {
  const uint64_t a = Push(v1::CI, "a");
  const uint64_t b = Push(v1::BATCH, "b");
  queue_.Promote(b, v1::INTERACTIVE);
  queue_.Promote(a, v1::BATCH);
  queue_.Promote(77, v1::INTERACTIVE);
  EXPECT_EQ(queue_.Order(now_), (std::vector<uint64_t>{b, a}));
  EXPECT_TRUE(queue_.Remove(b));
  EXPECT_FALSE(queue_.Remove(b));
  EXPECT_EQ(Pop(), a);
}

// Against a list that is searched from the start.
TEST_F(FairQueueTest, RemovingKeepsTheRound) {
  std::vector<uint64_t> ids;
  for (int i = 0; i < 30; ++i) {
    ids.push_back(Push(v1::CI, std::string(1, static_cast<char>('a' + i % 3)),
                       std::string(1, static_cast<char>('x' + i % 2))));
  }
  for (int i = 0; i < 30; i += 4) EXPECT_TRUE(queue_.Remove(ids[i]));
  const std::vector<uint64_t> order = queue_.Order(now_);
  EXPECT_EQ(order.size(), 22u);
  for (const uint64_t id : order) EXPECT_EQ(Pop(), id);
}

// Whoever cannot go keeps its turn, and its job's other items go in it.
TEST_F(FairQueueTest, WhoeverIsPassedOverKeepsItsTurn) {
  const uint64_t a1 = Push(v1::CI, "a", "x");
  const uint64_t b1 = Push(v1::CI, "b", "y");
  const uint64_t b2 = Push(v1::CI, "b", "y");
  const auto any = [](v1::JobClass, int) { return true; };
  const auto but_a1 = [&](uint64_t id) { return id != a1; };
  for (const uint64_t id : {b1, b2}) {
    const auto next = queue_.Next(now_, any, but_a1);
    ASSERT_TRUE(next.has_value());
    EXPECT_EQ(next->id, id);
    if (id == b1) queue_.Take(*next);
  }
  EXPECT_EQ(queue_.Order(now_), (std::vector<uint64_t>{a1, b2}));
  const uint64_t a2 = Push(v1::CI, "a", "x");
  const auto next = queue_.Next(now_, any, but_a1);
  ASSERT_TRUE(next.has_value());
  EXPECT_EQ(next->id, a2);
  EXPECT_FALSE(queue_.Next(now_, any, [](uint64_t) { return false; }));
}

TEST_F(FairQueueTest, TheOrderShownIsTheOrderTaken) {
  Rng rng(7);
  for (int round = 0; round < 50; ++round) {
    const uint64_t pushed = rng.Next() % 40;
    for (uint64_t i = 0; i < pushed; ++i) {
      const auto job_class = static_cast<v1::JobClass>(1 + rng.Next() % 3);
      Push(job_class, std::string(1, static_cast<char>('a' + rng.Next() % 4)),
           std::string(1, static_cast<char>('x' + rng.Next() % 3)));
      now_ += absl::Seconds(rng.Next() % 20);
    }
    const std::vector<uint64_t> order = queue_.Order(now_);
    ASSERT_EQ(order.size(), queue_.size());
    const size_t taken = rng.Next() % (order.size() + 1);
    for (size_t i = 0; i < taken; ++i) ASSERT_EQ(Pop(), order[i]) << round;
  }
}

TEST(JobClassTest, FollowsFromOptionsAndGoals) {
  v1::CreateJobRequest request;
  request.add_goals(v1::INSPECT);
  EXPECT_EQ(ClassOf(request), v1::INTERACTIVE);
  request.add_goals(v1::PROFILE);
  EXPECT_EQ(ClassOf(request), v1::CI);
  request.mutable_options()->set_job_class(v1::BATCH);
  EXPECT_EQ(ClassOf(request), v1::BATCH);
}

TEST(WaitEstimateTest, AddsWhatIsAheadAndSharesItAmongSlots) {
  RecentDurations recent;
  {
    WaitEstimate unknown(recent, 1);
    unknown.Add("tile");
    EXPECT_FALSE(unknown.Get().has_value());
  }
  recent.Add("tile", absl::Seconds(10));
  recent.Add("tile", absl::Seconds(20));
  EXPECT_EQ(recent.Of("tile"), absl::Seconds(12));
  EXPECT_EQ(recent.Of("emit"), absl::Seconds(12));
  WaitEstimate wait(recent, 2);
  wait.Add("tile", absl::Seconds(4));   // 8 are left of it.
  wait.Add("tile", absl::Seconds(40));  // Any moment.
  wait.Add("emit");
  EXPECT_EQ(wait.Get(), absl::Seconds(10));
  EXPECT_FALSE(WaitEstimate(recent, 0).Get().has_value());
}

}  // namespace
}  // namespace edgekiln::server
