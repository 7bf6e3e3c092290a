#include "cache/background_appender.h"

#include <utility>

namespace edgekiln::cache {

BackgroundAppender::BackgroundAppender(
    std::function<absl::Status(absl::string_view)> append,
    int64_t max_queued_bytes)
    : append_(std::move(append)), max_queued_bytes_(max_queued_bytes) {
  thread_ = std::thread([this] { Run(); });
}

BackgroundAppender::~BackgroundAppender() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

absl::Status BackgroundAppender::Append(std::string bytes) {
  const auto size = static_cast<int64_t>(bytes.size());
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] {
      return queue_.empty() || queued_bytes_ + size <= max_queued_bytes_;
    });
    if (!status_.ok()) return status_;
    queued_bytes_ += size;
    queue_.push_back(std::move(bytes));
  }
  changed_.notify_all();
  return absl::OkStatus();
}

absl::Status BackgroundAppender::Drain() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return queue_.empty(); });
  return status_;
}

void BackgroundAppender::Run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return stop_ || !queue_.empty(); });
    if (queue_.empty()) return;
    const std::string& bytes = queue_.front();  // Others only push behind it.
    lock.unlock();
    absl::Status status = append_(bytes);
    lock.lock();
    queued_bytes_ -= static_cast<int64_t>(queue_.front().size());
    queue_.pop_front();
    if (!status.ok()) {
      status_ = std::move(status);
      queue_.clear();
      queued_bytes_ = 0;
      changed_.notify_all();
      return;
    }
    changed_.notify_all();
  }
}

}  // namespace edgekiln::cache
