#ifndef EK_CACHE_BACKGROUND_APPENDER_H_
#define EK_CACHE_BACKGROUND_APPENDER_H_

// Takes bytes at once and does with them what takes time on a thread of its
// own, in order: who receives the next ones does not wait for hash and disk.

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace edgekiln::cache {

// To be used by one thread at a time.
class BackgroundAppender {
 public:
  // `append` is called on the other thread, and no more after it has failed.
  BackgroundAppender(std::function<absl::Status(absl::string_view)> append,
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

  const std::function<absl::Status(absl::string_view)> append_;
  const int64_t max_queued_bytes_;
  std::mutex mutex_;
  std::condition_variable changed_;
  // All guarded by mutex_.
  std::deque<std::string> queue_;  // The first one is being worked on.
  int64_t queued_bytes_ = 0;
  absl::Status status_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace edgekiln::cache

#endif  // EK_CACHE_BACKGROUND_APPENDER_H_
