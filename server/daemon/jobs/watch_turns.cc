#include "server/daemon/jobs/watch_turns.h"

namespace edgekiln::server {

void WatchTurns::Begin(Executor::Work& work) {
  {
    MutexLock lock(mutex_);
    if (taken_ == kAtOnce) {
      waiting_.push_back(&work);
      return;
    }
    ++taken_;
  }
  executor_.Post(work);
}

bool WatchTurns::TryBegin() {
  MutexLock lock(mutex_);
  if (taken_ == kAtOnce) return false;
  ++taken_;
  return true;
}

void WatchTurns::End() {
  Executor::Work* next = nullptr;
  {
    MutexLock lock(mutex_);
    if (waiting_.empty()) {
      --taken_;
      return;
    }
    next = waiting_.front();
    waiting_.pop_front();
  }
  executor_.Post(*next);
}

}  // namespace edgekiln::server
