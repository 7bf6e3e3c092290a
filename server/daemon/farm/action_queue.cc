#include "server/daemon/farm/action_queue.h"

#include <algorithm>
#include <system_error>
#include <utility>

namespace edgekiln::server {

ActionQueue::ActionQueue(int threads) {
  for (int i = 0; i < threads; ++i) {
    try {
      threads_.emplace_back([this] { Run(); });
    } catch (const std::system_error&) {
      return;
    }
  }
}

bool ActionQueue::Post(uint64_t key, std::function<void()>&& action,
                       bool background) {
  if (threads_.empty()) return false;
  {
    MutexLock lock(mutex_);
    if (stopping_) return false;
    const auto [entry, idle] = actions_.try_emplace(key);
    Actions& of_key = entry->second;
    of_key.actions.push_back(std::move(action));
    ++pending_;
    if (of_key.actions.size() == 1) {
      of_key.background = background;
    } else if (of_key.background && !background) {
      of_key.background = false;
      // None if an action of that key runs.
      const auto turn =
          std::find(background_turns_.begin(), background_turns_.end(), key);
      if (turn != background_turns_.end()) {
        background_turns_.erase(turn);
        turns_.push_back(key);
      }
    }
    // Otherwise one of that key runs, or waits already.
    if (!idle) return true;
    TurnsOf(of_key).push_back(key);
  }
  changed_.NotifyOne();
  return true;
}

void ActionQueue::Run() {
  MutexLock lock(mutex_);
  while (true) {
    while (IsIdle() && !stopping_) changed_.Wait(lock);
    if (IsIdle()) return;
    Turns& turns = next_.Next(!turns_.empty(), !background_turns_.empty())
                       ? background_turns_
                       : turns_;
    const uint64_t key = turns.front();
    turns.pop_front();
    const auto of_key = actions_.find(key);
    std::function<void()> action = std::move(of_key->second.actions.front());
    of_key->second.actions.pop_front();
    lock.Unlock();
    action();
    action = nullptr;
    --pending_;
    lock.Lock();
    if (of_key->second.actions.empty()) {
      actions_.erase(of_key);
    } else {
      // This thread goes on; no other need be woken.
      TurnsOf(of_key->second).push_back(key);
    }
  }
}

void ActionQueue::Stop() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
  }
  changed_.NotifyAll();
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
}

}  // namespace edgekiln::server
