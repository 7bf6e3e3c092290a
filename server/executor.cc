#include "server/executor.h"

#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/error.h"

namespace edgekiln::server {

absl::StatusOr<std::unique_ptr<Executor>> Executor::New(int threads) {
  std::unique_ptr<Executor> executor(new Executor());
  for (int i = 0; i < threads; ++i) {
    try {
      executor->threads_.emplace_back(
          [raw = executor.get()] { raw->RunLoop(); });
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
  return executor;
}

Executor::~Executor() {
  {
    MutexLock lock(mutex_);
    ending_ = true;
  }
  posted_.NotifyAll();
  for (std::thread& thread : threads_) thread.join();
}

void Executor::Post(Work& work) {
  {
    MutexLock lock(mutex_);
    work.next_ = nullptr;
    (last_ == nullptr ? first_ : last_->next_) = &work;
    last_ = &work;
  }
  posted_.NotifyOne();
}

void Executor::RunLoop() {
  MutexLock lock(mutex_);
  while (true) {
    while (first_ == nullptr && !ending_) posted_.Wait(lock);
    if (first_ == nullptr) return;
    Work& work = TakeFirst();
    lock.Unlock();
    work.Run();
    lock.Lock();
  }
}

void Executor::RunPosted() {
  MutexLock lock(mutex_);
  while (first_ != nullptr) {
    Work& work = TakeFirst();
    lock.Unlock();
    work.Run();
    lock.Lock();
  }
}

Executor::Work& Executor::TakeFirst() {
  Work& work = *first_;
  first_ = work.next_;
  if (first_ == nullptr) last_ = nullptr;
  return work;
}

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
