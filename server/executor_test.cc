#include "server/executor.h"

#include <algorithm>
#include <cstddef>
#include <deque>
#include <functional>
#include <iterator>
#include <memory>
#include <new>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "gtest/gtest.h"
#include "tests/support/thread_limit.h"

namespace edgekiln::server {
namespace {

class Call final : public Executor::Work {
 public:
  explicit Call(std::function<void()> call) : call_(std::move(call)) {}
  void Run() override { call_(); }

 private:
  const std::function<void()> call_;
};

// Threads that cannot be had are an error, and those that there are end.
TEST(ExecutorTest, SaysThatThereAreNoThreads) {
  for (const int there_are : {0, 1, 3}) {
    const tests::ThreadLimit limit(there_are);
    const absl::Status refused = Executor::New(4).status();
    EXPECT_TRUE(absl::IsResourceExhausted(refused)) << refused;
    const auto detail = GetErrorDetail(refused);
    ASSERT_TRUE(detail.has_value()) << refused;
    EXPECT_EQ(detail->reason, "NO_THREAD");
    EXPECT_EQ(detail->limit, absl::StrCat(there_are, " of 4 threads for jobs"));
  }
}

// In the one thread of the test, for an order that is the same each time.
class SharedExecutorTest : public testing::Test {
 protected:
  void Post(Executor& executor, char name) {
    executor.Post(calls_.emplace_back([this, name] { ran_ += name; }));
  }

  const std::unique_ptr<Executor> owner_ = *Executor::New(0);
  std::deque<Call> calls_;
  std::string ran_;
};

TEST_F(SharedExecutorTest, AJobOfManyPiecesDelaysNoOther) {
  Executor many(*owner_);
  Executor one(*owner_);
  for (const char name : {'a', 'b', 'c', 'd'}) Post(many, name);
  Post(one, '1');
  owner_->RunPosted();
  EXPECT_EQ(ran_, "a1bcd");
}

TEST_F(SharedExecutorTest, AllThatHaveWorkTakeTurns) {
  Executor first(*owner_);
  Executor second(*owner_);
  for (const char name : {'a', 'b', 'c'}) Post(first, name);
  for (const char name : {'1', '2', '3'}) Post(second, name);
  Post(*owner_, 'X');
  owner_->RunPosted();
  EXPECT_EQ(ran_, "a1Xb2c3");
}

// Little, but never nothing.
TEST_F(SharedExecutorTest, TheBackgroundGetsEveryFourthTurn) {
  Executor first(*owner_);
  Executor second(*owner_);
  Executor background(*owner_, /*background=*/true);
  for (const char name : {'A', 'B', 'C'}) Post(background, name);
  for (const char name : {'a', 'b', 'c'}) Post(first, name);
  for (const char name : {'1', '2'}) Post(second, name);
  owner_->RunPosted();
  EXPECT_EQ(ran_, "a1bA2cBC");
}

// What a piece of work posts goes behind the others, too.
TEST_F(SharedExecutorTest, ALoopOfOneJobDelaysNoOther) {
  Executor looping(*owner_);
  Executor other(*owner_);
  Call again([&] { ran_ += 'b'; });
  Call first([&] {
    ran_ += 'a';
    looping.Post(again);
  });
  looping.Post(first);
  Post(other, '1');
  Post(other, '2');
  owner_->RunPosted();
  EXPECT_EQ(ran_, "a1b2");
}

// As a job's does, which ends with the job.
TEST_F(SharedExecutorTest, MayBeDestroyedByItsOwnLastWork) {
  constexpr std::byte kGone{0xff};
  alignas(Executor) std::byte storage[sizeof(Executor)];
  auto* const ending = new (storage) Executor(*owner_);
  Executor other(*owner_);
  Post(*ending, 'a');
  Call last([&] {
    ran_ += 'b';
    ending->~Executor();
    std::fill(std::begin(storage), std::end(storage), kGone);
  });
  ending->Post(last);
  Post(other, '1');
  Post(other, '2');
  Post(other, '3');
  owner_->RunPosted();
  EXPECT_EQ(ran_, "a1b23");
  // Nobody has touched it since.
  EXPECT_TRUE(std::all_of(std::begin(storage), std::end(storage),
                          [=](std::byte value) { return value == kGone; }));
}

}  // namespace
}  // namespace edgekiln::server
