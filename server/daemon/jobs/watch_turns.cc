#include "server/daemon/jobs/watch_turns.h"

namespace edgekiln::server {

void WatchTurns::Begin(Executor::Work& work) {
  {
    MutexLock lock(mutex_);
    if (taken_.size() >= kAtOnce) {
      waiting_.push_back(&work);
      return;
    }
    taken_.emplace(&work, ticks_);
  }
  executor_.Post(work);
}

bool WatchTurns::TryBegin(const Executor::Work& work) {
  MutexLock lock(mutex_);
  if (taken_.size() >= kAtOnce) return false;
  taken_.emplace(&work, ticks_);
  return true;
}

void WatchTurns::End(const Executor::Work& work) {
  std::vector<Executor::Work*> next;
  {
    MutexLock lock(mutex_);
    // It may have lost it before.
    taken_.erase(&work);
    next = Next();
  }
  for (Executor::Work* one : next) executor_.Post(*one);
}

void WatchTurns::Tick() {
  std::vector<Executor::Work*> next;
  {
    MutexLock lock(mutex_);
    ++ticks_;
    if (waiting_.empty()) return;
    std::erase_if(taken_, [now = ticks_](const auto& turn) {
      return turn.second + 2 <= now;
    });
    next = Next();
  }
  for (Executor::Work* one : next) executor_.Post(*one);
}

std::vector<Executor::Work*> WatchTurns::Next() {
  std::vector<Executor::Work*> next;
  while (taken_.size() < kAtOnce && !waiting_.empty()) {
    next.push_back(waiting_.front());
    waiting_.pop_front();
    taken_.emplace(next.back(), ticks_);
  }
  return next;
}

}  // namespace edgekiln::server
