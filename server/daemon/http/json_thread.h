#ifndef EK_SERVER_DAEMON_HTTP_JSON_THREAD_H_
#define EK_SERVER_DAEMON_HTTP_JSON_THREAD_H_

// Large JSON is written and parsed by one thread of low priority: a mebibyte
// takes tens of milliseconds, and a client may ask in a loop.

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <thread>

#include "base/mutex.h"

namespace edgekiln::server {

// Minimum size of large JSON, or of a message that becomes JSON. Less takes
// about a millisecond.
inline constexpr size_t kLargeJsonBytes = size_t{32} << 10;

enum class JsonWork : uint8_t { kParse, kWrite };

// Thread-safe.
class JsonThread {
 public:
  JsonThread();
  // Once everything posted is done.
  ~JsonThread();
  JsonThread(const JsonThread&) = delete;
  JsonThread& operator=(const JsonThread&) = delete;

  // Runs `work` later, in the order of calls of its kind. The kinds take turns:
  // large requests of one client do not delay all answers.
  void Post(JsonWork kind, std::function<void()> work);

 private:
  void Run();

  Mutex mutex_;
  CondVar changed_;
  // By kind.
  std::array<std::deque<std::function<void()>>, 2> waiting_
      ABSL_GUARDED_BY(mutex_);
  size_t last_kind_ ABSL_GUARDED_BY(mutex_) = 0;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_HTTP_JSON_THREAD_H_
