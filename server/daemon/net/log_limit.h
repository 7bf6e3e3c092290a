#ifndef EK_SERVER_DAEMON_NET_LOG_LIMIT_H_
#define EK_SERVER_DAEMON_NET_LOG_LIMIT_H_

// Keeps what others can cause thousands of times from filling the log.

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mutex.h"

namespace edgekiln::server {

// One warning per interval; it says how many were left out since the last one.
// Thread-safe. Arguments must outlive it.
class LogLimit {
 public:
  LogLimit(Clock& clock, Logger& log,
           absl::Duration interval = absl::Seconds(10))
      : clock_(clock), log_(log), interval_(interval) {}

  void Warning(absl::string_view message);

 private:
  Clock& clock_;
  Logger& log_;
  const absl::Duration interval_;
  Mutex mutex_;
  absl::Duration next_ ABSL_GUARDED_BY(mutex_) = -absl::InfiniteDuration();
  int64_t left_out_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_NET_LOG_LIMIT_H_
