#include "server/daemon/jobs/watch_turns.h"

#include <deque>
#include <memory>
#include <numeric>
#include <vector>

#include "gtest/gtest.h"

namespace edgekiln::server {
namespace {

// Notes that its turn has begun.
class Turn final : public Executor::Work {
 public:
  Turn(int number, std::vector<int>& begun) : number_(number), begun_(begun) {}
  void Run() override { begun_.push_back(number_); }

 private:
  const int number_;
  std::vector<int>& begun_;
};

// The executor has no threads: work runs when a test says so.
class WatchTurnsTest : public testing::Test {
 protected:
  void Begin(int count) {
    for (int i = 0; i < count; ++i) {
      turns_.Begin(made_.emplace_back(static_cast<int>(made_.size()), begun_));
    }
    executor_->RunPosted();
  }

  // Of those that began first.
  void End(int count) {
    for (int i = 0; i < count; ++i) turns_.End(made_[ended_++]);
    executor_->RunPosted();
  }

  static std::vector<int> UpTo(int count) {
    std::vector<int> numbers(static_cast<size_t>(count));
    std::iota(numbers.begin(), numbers.end(), 0);
    return numbers;
  }

  static constexpr int kAtOnce = static_cast<int>(WatchTurns::kAtOnce);
  const std::unique_ptr<Executor> executor_ = *Executor::New(0);
  WatchTurns turns_{*executor_};
  std::vector<int> begun_;
  std::deque<Turn> made_;
  size_t ended_ = 0;
};

TEST_F(WatchTurnsTest, FewBeginAtOnceAndTheRestInOrder) {
  Begin(kAtOnce + 4);
  EXPECT_EQ(begun_, UpTo(kAtOnce));
  End(1);
  EXPECT_EQ(begun_, UpTo(kAtOnce + 1));
  End(3);
  EXPECT_EQ(begun_, UpTo(kAtOnce + 4));
}

TEST_F(WatchTurnsTest, ATurnThatEndedIsFreeAgain) {
  Begin(kAtOnce);
  End(kAtOnce);
  Begin(kAtOnce + 1);
  EXPECT_EQ(begun_, UpTo(2 * kAtOnce));
}

TEST_F(WatchTurnsTest, ACallerMayHaveOneAtOnceIfOneIsFree) {
  Begin(kAtOnce - 1);
  Turn one(-1, begun_);
  Turn another(-2, begun_);
  EXPECT_TRUE(turns_.TryBegin(one));
  EXPECT_FALSE(turns_.TryBegin(another));
  End(1);
  EXPECT_TRUE(turns_.TryBegin(another));
}

// The turn that ends is given to the one that waits.
TEST_F(WatchTurnsTest, NobodyPassesThoseThatWait) {
  Begin(kAtOnce + 1);
  End(1);
  EXPECT_FALSE(turns_.TryBegin(Turn(-1, begun_)));
  EXPECT_EQ(begun_, UpTo(kAtOnce + 1));
}

TEST_F(WatchTurnsTest, ATickAllowsSoManyEvents) {
  WatchTurns paced(*executor_, /*events_per_tick=*/10);
  std::deque<Turn> work;
  for (int i = 0; i < 6; ++i) work.emplace_back(i, begun_);
  paced.Begin(work[0]);
  executor_->RunPosted();
  paced.Count(25);
  paced.End(work[0]);
  Turn other(-1, begun_);
  EXPECT_FALSE(paced.TryBegin(other));
  for (int i = 1; i < 6; ++i) paced.Begin(work[static_cast<size_t>(i)]);
  // 26 are spent, the turn included: 16 too many.
  paced.Tick();
  executor_->RunPosted();
  EXPECT_EQ(begun_, UpTo(1));
  paced.Tick();
  executor_->RunPosted();
  EXPECT_EQ(begun_, UpTo(5));  // A turn is one event, too.
  // Nothing is saved by doing nothing.
  for (int i = 1; i < 5; ++i) paced.End(work[static_cast<size_t>(i)]);
  executor_->RunPosted();
  for (int i = 0; i < 5; ++i) paced.Tick();
  executor_->RunPosted();
  EXPECT_EQ(begun_, UpTo(6));
  paced.Count(9);
  EXPECT_TRUE(paced.TryBegin(other));
  paced.Count(1);
  EXPECT_FALSE(paced.TryBegin(work[0]));
}

TEST_F(WatchTurnsTest, TurnsCountAsEvents) {
  WatchTurns paced(*executor_, /*events_per_tick=*/10, /*turn_events=*/4);
  std::deque<Turn> work;
  for (int i = 0; i < 6; ++i) {
    paced.Begin(work.emplace_back(i, begun_));
  }
  executor_->RunPosted();
  EXPECT_EQ(begun_, UpTo(3));
  // 2 too many.
  paced.Tick();
  executor_->RunPosted();
  EXPECT_EQ(begun_, UpTo(5));
}

TEST_F(WatchTurnsTest, ConnectionsTakeTurns) {
  Begin(kAtOnce);
  std::deque<Turn> work;
  for (int i = 0; i < 6; ++i) work.emplace_back(100 + i, begun_);
  for (int i = 0; i < 5; ++i) {
    turns_.Begin(work[static_cast<size_t>(i)], "many");
  }
  turns_.Begin(work[5], "one");
  begun_.clear();
  End(6);
  EXPECT_EQ(begun_, (std::vector<int>{100, 105, 101, 102, 103, 104}));
}

TEST_F(WatchTurnsTest, WhoWithdrawsGetsNoTurn) {
  Begin(kAtOnce + 2);
  EXPECT_TRUE(turns_.Withdraw(made_[kAtOnce]));
  EXPECT_FALSE(turns_.Withdraw(made_[kAtOnce]));
  EXPECT_FALSE(turns_.Withdraw(made_[0]));  // It has begun.
  End(2);
  std::vector<int> expected = UpTo(kAtOnce);
  expected.push_back(kAtOnce + 1);
  EXPECT_EQ(begun_, expected);
}

// Who does not read does not make others wait for ever.
TEST_F(WatchTurnsTest, ALongTurnIsLostToThoseThatWait) {
  Begin(kAtOnce + 1);
  turns_.Tick();
  executor_->RunPosted();
  EXPECT_EQ(begun_, UpTo(kAtOnce));
  turns_.Tick();
  executor_->RunPosted();
  EXPECT_EQ(begun_, UpTo(kAtOnce + 1));
  // The end of one that was lost frees nothing twice.
  End(kAtOnce);
  Begin(kAtOnce);
  EXPECT_EQ(begun_, UpTo(2 * kAtOnce));
}

}  // namespace
}  // namespace edgekiln::server
