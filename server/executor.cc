#include "server/executor.h"

#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/mutex.h"
#include "server/background_turns.h"

namespace edgekiln::server {

class Executor::Threads {
 public:
  // Runs all that is left.
  ~Threads() {
    {
      MutexLock lock(mutex_);
      ending_ = true;
    }
    posted_.NotifyAll();
    for (std::thread& thread : threads_) thread.join();
  }

  // Throws std::system_error.
  void Add() {
    threads_.emplace_back([this] { RunLoop(/*wait=*/true); });
  }

  void Post(Executor& executor, Work& work) {
    MutexLock lock(mutex_);
    if (executor.work_.first == nullptr) TurnsOf(executor).Push(executor);
    executor.work_.Push(work);
    // Under the lock: what was the last work may have ended all this by then.
    posted_.NotifyOne();
  }

  // Until nothing is left; with `wait`, until nothing can come any more.
  void RunLoop(bool wait) {
    MutexLock lock(mutex_);
    while (true) {
      while (IsIdle() && wait && !ending_) posted_.Wait(lock);
      if (IsIdle()) return;
      Queue<Executor>& turns = next_.Next(turns_.first != nullptr,
                                          background_turns_.first != nullptr)
                                   ? background_turns_
                                   : turns_;
      Executor& executor = turns.Pop();
      Work& work = executor.work_.Pop();
      if (executor.work_.first != nullptr) turns.Push(executor);
      lock.Unlock();
      // May be the end of both.
      work.Run();
      lock.Lock();
    }
  }

 private:
  Queue<Executor>& TurnsOf(const Executor& executor)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return executor.background_ ? background_turns_ : turns_;
  }
  bool IsIdle() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return turns_.first == nullptr && background_turns_.first == nullptr;
  }

  Mutex mutex_;
  CondVar posted_;
  // Of those with work.
  Queue<Executor> turns_ ABSL_GUARDED_BY(mutex_);
  Queue<Executor> background_turns_ ABSL_GUARDED_BY(mutex_);
  BackgroundTurns next_ ABSL_GUARDED_BY(mutex_);
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

absl::StatusOr<std::unique_ptr<Executor>> Executor::New(int threads) {
  auto own = std::make_unique<Threads>();
  for (int i = 0; i < threads; ++i) {
    try {
      own->Add();
    } catch (const std::system_error& refused) {
      return MakeError(
          absl::StatusCode::kResourceExhausted,
          {.fault = Fault::kInfra,
           .reason = "NO_THREAD",
           .what = "the system refuses to start a thread",
           .where = refused.what(),
           .limit = absl::StrCat(i, " of ", threads, " threads for jobs"),
           .need = absl::StrCat("job_threads = ", threads),
           .fix = "raise the limits of processes (ulimit -u, pids of the "
                  "cgroup) and memory, or lower job_threads"});
    }
  }
  return std::unique_ptr<Executor>(new Executor(std::move(own)));
}

Executor::Executor(std::unique_ptr<Threads> own)
    : own_(std::move(own)), threads_(*own_) {}

Executor::Executor(Executor& owner, bool background)
    : threads_(owner.threads_), background_(background) {}

Executor::~Executor() { own_.reset(); }

void Executor::Post(Work& work) { threads_.Post(*this, work); }

void Executor::RunPosted() { threads_.RunLoop(/*wait=*/false); }

void WaitList::PostAll() {
  Executor::Work* oldest = nullptr;
  while (first_ != nullptr) {
    Executor::Work* const next = first_->next_;
    first_->next_ = oldest;
    oldest = first_;
    first_ = next;
  }
  while (oldest != nullptr) {
    // Once it is posted it may be gone.
    Executor::Work* const next = oldest->next_;
    oldest->executor_->Post(*oldest);
    oldest = next;
  }
}

}  // namespace edgekiln::server
