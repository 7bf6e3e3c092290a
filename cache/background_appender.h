#ifndef EK_CACHE_BACKGROUND_APPENDER_H_
#define EK_CACHE_BACKGROUND_APPENDER_H_

// Takes bytes at once and does with them what takes time on a thread of its
// own, in order: who receives the next ones does not wait for hash and disk.

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "base/mutex.h"

namespace edgekiln::cache {

// To be used by one thread at a time.
class BackgroundAppender {
 public:
  // `append` is called on the other thread, and no more after it has failed.
  BackgroundAppender(std::function<absl::Status(std::string)> append,
                     int64_t max_queued_bytes);
  ~BackgroundAppender();  // As Drain().
  BackgroundAppender(const BackgroundAppender&) = delete;
  BackgroundAppender& operator=(const BackgroundAppender&) = delete;

  // Waits while too much is queued. Returns the error of `append` for these or
  // earlier bytes, at the latest on the next call.
  absl::Status Append(std::string bytes);
  // Waits until nothing is queued: what `append` works on is the caller's until
  // the next Append(). Returns the error of `append`.
  absl::Status Drain();

 private:
  void Run();

  const std::function<absl::Status(std::string)> append_;
  const int64_t max_queued_bytes_;
  Mutex mutex_;
  CondVar changed_;
  // The first one is being worked on, and empty then.
  std::deque<std::string> queue_ ABSL_GUARDED_BY(mutex_);
  int64_t queued_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
  bool stop_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace edgekiln::cache

#endif  // EK_CACHE_BACKGROUND_APPENDER_H_
