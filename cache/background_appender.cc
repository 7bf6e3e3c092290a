#include "cache/background_appender.h"

#include <utility>

namespace edgekiln::cache {

BackgroundAppender::BackgroundAppender(
    std::function<absl::Status(std::string)> append, int64_t max_queued_bytes)
    : append_(std::move(append)), max_queued_bytes_(max_queued_bytes) {
  thread_ = std::thread([this] { Run(); });
}

BackgroundAppender::~BackgroundAppender() {
  {
    MutexLock lock(mutex_);
    stop_ = true;
  }
  changed_.NotifyAll();
  thread_.join();
}

absl::Status BackgroundAppender::Append(std::string bytes) {
  const auto size = static_cast<int64_t>(bytes.size());
  {
    MutexLock lock(mutex_);
    while (!queue_.empty() && queued_bytes_ + size > max_queued_bytes_) {
      changed_.Wait(lock);
    }
    if (!status_.ok()) return status_;
    queued_bytes_ += size;
    queue_.push_back(std::move(bytes));
  }
  changed_.NotifyAll();
  return absl::OkStatus();
}

absl::Status BackgroundAppender::Drain() {
  MutexLock lock(mutex_);
  while (!queue_.empty()) changed_.Wait(lock);
  return status_;
}

void BackgroundAppender::Run() {
  MutexLock lock(mutex_);
  while (true) {
    while (!stop_ && queue_.empty()) changed_.Wait(lock);
    if (queue_.empty()) return;
    // It keeps its place, so that Drain() waits for it.
    std::string bytes = std::move(queue_.front());
    const auto size = static_cast<int64_t>(bytes.size());
    lock.Unlock();
    absl::Status status = append_(std::move(bytes));
    lock.Lock();
    queued_bytes_ -= size;
    queue_.pop_front();
    if (!status.ok()) {
      status_ = std::move(status);
      queue_.clear();
      queued_bytes_ = 0;
      changed_.NotifyAll();
      return;
    }
    changed_.NotifyAll();
  }
}

}  // namespace edgekiln::cache
