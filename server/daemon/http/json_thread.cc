#include "server/daemon/http/json_thread.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

namespace edgekiln::server {
namespace {

// Below normal: a user may be waiting for it.
constexpr int kNice = 10;

}  // namespace

JsonThread::JsonThread() : thread_([this] { Run(); }) {}

JsonThread::~JsonThread() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
  }
  changed_.NotifyAll();
  thread_.join();
}

void JsonThread::Post(JsonWork kind, std::function<void()> work) {
  {
    MutexLock lock(mutex_);
    waiting_[static_cast<size_t>(kind)].push_back(std::move(work));
  }
  changed_.NotifyOne();
}

void JsonThread::Run() {
  // Of this thread alone, as Linux has it, and never above the daemon's. Where
  // that fails, it is only faster.
  const auto self = static_cast<id_t>(gettid());
  (void)setpriority(PRIO_PROCESS, self,
                    std::max(kNice, getpriority(PRIO_PROCESS, self)));
  MutexLock lock(mutex_);
  while (true) {
    const size_t other = 1 - last_kind_;
    if (!waiting_[other].empty()) {
      last_kind_ = other;
    } else if (waiting_[last_kind_].empty()) {
      if (stopping_) return;
      changed_.Wait(lock);
      continue;
    }
    std::deque<std::function<void()>>& next = waiting_[last_kind_];
    const std::function<void()> work = std::move(next.front());
    next.pop_front();
    lock.Unlock();
    work();
    lock.Lock();
  }
}

}  // namespace edgekiln::server
