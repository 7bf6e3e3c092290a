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
