#include "server/daemon/fairness/paced_calls.h"

#include <time.h>

namespace edgekiln::server {
namespace {

// Of the calling thread.
absl::Duration CpuTime() {
  timespec used = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return absl::DurationFromTimespec(used);
}

}  // namespace

bool PacedCalls::Run(const std::string& client,
                     const std::function<void()>& call) {
  MutexLock lock(mutex_);
  if (waiting_ >= max_waiting_) return false;
  const auto mine = waiting_of_.try_emplace(client, 0).first;
  if (mine->second >= (max_waiting_ + 1) / 2) return false;
  ++mine->second;
  ++waiting_;
  while (running_ || std::chrono::steady_clock::now() < next_) {
    if (running_) {
      ended_.Wait(lock);
    } else {
      ended_.WaitUntil(lock, next_);
    }
  }
  --waiting_;
  if (--mine->second == 0) waiting_of_.erase(mine);
  running_ = true;
  lock.Unlock();
  const absl::Duration before = CpuTime();
  call();
  const absl::Duration pause = (CpuTime() - before) * (1 / share_ - 1);
  lock.Lock();
  running_ = false;
  next_ = std::chrono::steady_clock::now() + absl::ToChronoNanoseconds(pause);
  ended_.NotifyOne();
  return true;
}

}  // namespace edgekiln::server
