#include "server/daemon/farm/action_queue.h"

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

bool ActionQueue::Post(uint64_t key, std::function<void()>&& action) {
  if (threads_.empty()) return false;
  {
    MutexLock lock(mutex_);
    if (stopping_) return false;
    const auto [actions, idle] = actions_.try_emplace(key);
    actions->second.push_back(std::move(action));
    ++pending_;
    // Otherwise one of that key runs, or waits already.
    if (!idle) return true;
    turns_.push_back(key);
  }
  changed_.NotifyOne();
  return true;
}

void ActionQueue::Run() {
  MutexLock lock(mutex_);
  while (true) {
    while (turns_.empty() && !stopping_) changed_.Wait(lock);
    if (turns_.empty()) return;
    const uint64_t key = turns_.front();
    turns_.pop_front();
    const auto of_key = actions_.find(key);
    std::function<void()> action = std::move(of_key->second.front());
    of_key->second.pop_front();
    lock.Unlock();
    action();
    action = nullptr;
    --pending_;
    lock.Lock();
    if (of_key->second.empty()) {
      actions_.erase(of_key);
    } else {
      // This thread goes on; no other need be woken.
      turns_.push_back(key);
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
