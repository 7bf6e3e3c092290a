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

  void End(int count) {
    for (int i = 0; i < count; ++i) turns_.End();
    executor_->RunPosted();
  }

  static std::vector<int> UpTo(int count) {
    std::vector<int> numbers(static_cast<size_t>(count));
    std::iota(numbers.begin(), numbers.end(), 0);
    return numbers;
  }

  static constexpr int kAtOnce = WatchTurns::kAtOnce;
  const std::unique_ptr<Executor> executor_ = *Executor::New(0);
  WatchTurns turns_{*executor_};
  std::vector<int> begun_;
  std::deque<Turn> made_;
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
  EXPECT_TRUE(turns_.TryBegin());
  EXPECT_FALSE(turns_.TryBegin());
  End(1);
  EXPECT_TRUE(turns_.TryBegin());
}

// The turn that ends is given to the one that waits.
TEST_F(WatchTurnsTest, NobodyPassesThoseThatWait) {
  Begin(kAtOnce + 1);
  End(1);
  EXPECT_FALSE(turns_.TryBegin());
  EXPECT_EQ(begun_, UpTo(kAtOnce + 1));
}

}  // namespace
}  // namespace edgekiln::server
