#include "server/daemon/net/log_limit.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace edgekiln::server {

void LogLimit::Warning(absl::string_view message) {
  int64_t left_out = 0;
  {
    MutexLock lock(mutex_);
    const absl::Duration now = clock_.Monotonic();
    if (now < next_) {
      ++left_out_;
      return;
    }
    next_ = now + interval_;
    left_out = std::exchange(left_out_, 0);
  }
  log_.Warning(message, left_out == 0 ? std::string()
                                      : absl::StrCat(" (and ", left_out,
                                                     " more like this)"));
}

}  // namespace edgekiln::server
