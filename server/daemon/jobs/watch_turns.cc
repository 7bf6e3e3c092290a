#include "server/daemon/jobs/watch_turns.h"

#include <algorithm>
#include <optional>

#include "absl/time/time.h"

namespace edgekiln::server {

void WatchTurns::Begin(Executor::Work& work, const std::string& connection) {
  {
    MutexLock lock(mutex_);
    if (!IsFree() || !queue_.empty()) {
      const uint64_t id = next_id_++;
      queue_.Push(id, {.client = connection, .order = id});
      waiting_.emplace(id, &work);
      ids_.emplace(&work, id);
      return;
    }
    Take(work);
  }
  executor_.Post(work);
}

bool WatchTurns::TryBegin(const Executor::Work& work) {
  MutexLock lock(mutex_);
  if (!IsFree() || !queue_.empty()) return false;
  Take(work);
  return true;
}

bool WatchTurns::Withdraw(const Executor::Work& work) {
  MutexLock lock(mutex_);
  const auto it = ids_.find(&work);
  if (it == ids_.end()) return false;
  queue_.Remove(it->second);
  waiting_.erase(it->second);
  ids_.erase(it);
  return true;
}

void WatchTurns::Count(size_t events) {
  MutexLock lock(mutex_);
  Pay(static_cast<int64_t>(events));
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
    // Nothing is saved for later.
    allowance_ = std::min(allowance_, int64_t{0}) + events_per_tick_;
    if (queue_.empty()) return;
    std::erase_if(taken_, [now = ticks_](const auto& turn) {
      return turn.second + 2 <= now;
    });
    next = Next();
  }
  for (Executor::Work* one : next) executor_.Post(*one);
}

void WatchTurns::Take(const Executor::Work& work) {
  taken_.emplace(&work, ticks_);
  Pay(turn_events_);
}

void WatchTurns::Pay(int64_t events) {
  if (events_per_tick_ != kUnlimited) allowance_ -= events;
}

std::vector<Executor::Work*> WatchTurns::Next() {
  std::vector<Executor::Work*> next;
  const auto any = [](v1::JobClass, int) { return true; };
  while (IsFree() && !queue_.empty()) {
    const std::optional<uint64_t> id = queue_.Pop(absl::ZeroDuration(), any);
    const auto it = waiting_.find(*id);
    next.push_back(it->second);
    ids_.erase(it->second);
    waiting_.erase(it);
    Take(*next.back());
  }
  return next;
}

}  // namespace edgekiln::server
