#include "server/task.h"

#include <atomic>
#include <coroutine>
#include <cstdint>
#include <future>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/error.h"
#include "base/mutex.h"
#include "gtest/gtest.h"
#include "server/executor.h"
#include "server/task_scope.h"

namespace edgekiln::server {
namespace {

// Something that a test makes happen.
class Gate {
 public:
  class Passed {
   public:
    explicit Passed(Gate& gate) : gate_(gate) {}
    bool await_ready() const noexcept { return false; }
    template <typename Promise>
    bool await_suspend(std::coroutine_handle<Promise> awaiting) {
      resumption_.handle = awaiting;
      return gate_.Add(resumption_, *awaiting.promise().executor);
    }
    void await_resume() const noexcept {}

   private:
    Gate& gate_;
    internal::Resumption resumption_;
  };

  Passed Pass() { return Passed(*this); }

  void Open() {
    MutexLock lock(mutex_);
    open_ = true;
    WaitList waiting = std::move(waiting_);
    lock.Unlock();
    waiting.PostAll();
  }
  int Waiting() {
    MutexLock lock(mutex_);
    return count_;
  }

 private:
  bool Add(Executor::Work& work, Executor& executor) {
    MutexLock lock(mutex_);
    if (open_) return false;
    ++count_;
    waiting_.Add(work, executor);
    return true;
  }

  Mutex mutex_;
  bool open_ ABSL_GUARDED_BY(mutex_) = false;
  int count_ ABSL_GUARDED_BY(mutex_) = 0;
  WaitList waiting_ ABSL_GUARDED_BY(mutex_);
};

// Counts those that are alive.
class Alive {
 public:
  explicit Alive(std::atomic<int>& count) : count_(&count) { ++*count_; }
  Alive(Alive&& other) noexcept
      : count_(std::exchange(other.count_, nullptr)) {}
  ~Alive() {
    if (count_ != nullptr) --*count_;
  }

 private:
  std::atomic<int>* count_;
};

class TaskTest : public testing::Test {
 protected:
  const std::unique_ptr<Executor> executor_ = *Executor::New(2);
};

Task<absl::StatusOr<std::string>> Half(bool fails) {
  if (fails) co_return absl::NotFoundError("no half");
  co_return std::string("half");
}

Task<absl::StatusOr<std::string>> Whole(bool fails) {
  EK_CO_ASSIGN_OR_RETURN(const std::string first, co_await Half(false));
  EK_CO_ASSIGN_OR_RETURN(const std::string second, co_await Half(fails),
                         "the second");
  co_return first + second;
}

TEST_F(TaskTest, HandsOnValuesAndErrors) {
  const auto whole = RunToEnd(*executor_, Whole(false));
  ASSERT_TRUE(whole.ok());
  EXPECT_EQ(*whole, "halfhalf");
  const auto failed = RunToEnd(*executor_, Whole(true));
  EXPECT_EQ(failed.status().message(), "the second: no half");
}

Task<absl::Status> Wait(Gate& gate, Alive) {
  co_await gate.Pass();
  co_return absl::OkStatus();
}

Task<absl::Status> WaitTogether(Executor& executor, Gate& gate, int tasks,
                                std::atomic<int>& alive) {
  TaskScope scope(executor);
  std::vector<absl::Status> results(static_cast<size_t>(tasks),
                                    absl::UnknownError("not over"));
  for (absl::Status& result : results) {
    scope.Spawn(Wait(gate, Alive(alive)), result);
  }
  co_await scope.Join();
  for (const absl::Status& result : results) EK_CO_RETURN_IF_ERROR(result);
  co_return absl::OkStatus();
}

// They wait without threads, and leave nothing behind.
TEST_F(TaskTest, AScopeEndsWithItsTasks) {
  constexpr int kTasks = 1000;
  Gate gate;
  std::atomic<int> alive = 0;
  std::promise<absl::Status> ended;
  StartTask(*executor_, WaitTogether(*executor_, gate, kTasks, alive),
            [&](absl::Status status) { ended.set_value(std::move(status)); });
  while (gate.Waiting() < kTasks) std::this_thread::yield();
  EXPECT_EQ(alive, kTasks);
  gate.Open();
  EXPECT_TRUE(ended.get_future().get().ok());
  EXPECT_EQ(alive, 0);
}

TEST_F(TaskTest, ATaskThatNobodyBeginsIsDestroyed) {
  Gate gate;
  std::atomic<int> alive = 0;
  {
    const Task<absl::Status> task = Wait(gate, Alive(alive));
    EXPECT_EQ(alive, 1);
  }
  EXPECT_EQ(alive, 0);
  EXPECT_EQ(gate.Waiting(), 0);
}

// What is posted runs although the executor ends.
TEST_F(TaskTest, AnExecutorEndsWhatItHas) {
  std::atomic<int> ended = 0;
  Gate gate;
  gate.Open();
  {
    const std::unique_ptr<Executor> executor = *Executor::New(1);
    std::atomic<int> alive = 0;
    for (int i = 0; i < 100; ++i) {
      StartTask(*executor, Wait(gate, Alive(alive)),
                [&](const absl::Status&) { ++ended; });
    }
  }
  EXPECT_EQ(ended, 100);
}

Task<absl::Status> Allocate(bool fails) {
  if (fails) throw std::bad_alloc();
  co_return absl::OkStatus();
}

Task<absl::StatusOr<int>> Count(bool fails) {
  EK_CO_RETURN_IF_ERROR(co_await Allocate(fails), "counting");
  co_return 1;
}

TEST_F(TaskTest, NoMemoryIsAnError) {
  EXPECT_EQ(*RunToEnd(*executor_, Count(false)), 1);
  const absl::Status status = RunToEnd(*executor_, Count(true)).status();
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_EQ(GetErrorDetail(status)->reason, "OUT_OF_MEMORY");
}

// Sanitizers end the program for want of memory unless told not to.
extern "C" const char* __asan_default_options() {
  return "allocator_may_return_null=1";
}
extern "C" const char* __tsan_default_options() {
  return "allocator_may_return_null=1";
}

// A frame of more memory than there is.
Task<absl::Status> Huge(Gate& gate) {
  char frame[int64_t{1} << 46];
  frame[0] = 1;
  co_await gate.Pass();
  co_return frame[0] == 1 ? absl::OkStatus() : absl::UnknownError("");
}

Task<absl::Status> AwaitHuge(Gate& gate) { co_return co_await Huge(gate); }

TEST_F(TaskTest, NoMemoryForATaskIsAnError) {
  Gate gate;
  gate.Open();
  EXPECT_TRUE(absl::IsResourceExhausted(RunToEnd(*executor_, Huge(gate))));
  EXPECT_TRUE(absl::IsResourceExhausted(RunToEnd(*executor_, AwaitHuge(gate))));
}

// GCC makes a tail call of what resumes the next coroutine from -O2 on: not in
// the preset dev (-O0), nor in those of sanitizers (-O1).
#if !defined(__OPTIMIZE__) || defined(__SANITIZE_ADDRESS__) || \
    defined(__SANITIZE_THREAD__)
constexpr bool kTailCalls = false;
#else
constexpr bool kTailCalls = true;
#endif

// The stack does not grow with what has ended already.
Task<absl::StatusOr<int>> Chain(int length) {
  int sum = 0;
  for (int i = 0; i < length; ++i) {
    EK_CO_ASSIGN_OR_RETURN(const int one, co_await Count(false));
    sum += one;
  }
  co_return sum;
}

TEST_F(TaskTest, ALoopOverReadyTasksNeedsNoStack) {
  if (!kTailCalls) {
    GTEST_SKIP() << "the build has no tail calls, without which the stack "
                    "grows with every task whatever ours do; the ci preset "
                    "has them, and runs this";
  }
  EXPECT_EQ(*RunToEnd(*executor_, Chain(300'000)), 300'000);
}

}  // namespace
}  // namespace edgekiln::server
