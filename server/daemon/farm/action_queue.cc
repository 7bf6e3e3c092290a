#include "server/daemon/farm/action_queue.h"

#include <system_error>
#include <utility>

namespace edgekiln::server {

ActionQueue::ActionQueue(int threads) {
  for (int i = 0; i < threads; ++i) {
    auto lane = std::make_unique<Lane>();
    try {
      lane->thread = std::thread([this, lane = lane.get()] { Run(*lane); });
    } catch (const std::system_error&) {
      return;
    }
    lanes_.push_back(std::move(lane));
  }
}

bool ActionQueue::Post(uint64_t key, std::function<void()> action) {
  if (lanes_.empty()) return false;
  Lane& lane = *lanes_[key % lanes_.size()];
  {
    MutexLock lock(lane.mutex);
    if (lane.stopping) return false;
    lane.actions.push_back(std::move(action));
    ++pending_;
  }
  lane.changed.NotifyOne();
  return true;
}

void ActionQueue::Run(Lane& lane) {
  MutexLock lock(lane.mutex);
  while (true) {
    while (lane.actions.empty() && !lane.stopping) lane.changed.Wait(lock);
    if (lane.actions.empty()) return;
    const std::function<void()> action = std::move(lane.actions.front());
    lane.actions.pop_front();
    lock.Unlock();
    action();
    --pending_;
    lock.Lock();
  }
}

void ActionQueue::Stop() {
  for (const auto& lane : lanes_) {
    {
      MutexLock lock(lane->mutex);
      lane->stopping = true;
    }
    lane->changed.NotifyAll();
    if (lane->thread.joinable()) lane->thread.join();
  }
}

}  // namespace edgekiln::server
