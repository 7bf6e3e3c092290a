#ifndef EK_SERVER_DAEMON_ACTIVITY_H_
#define EK_SERVER_DAEMON_ACTIVITY_H_

// Whether clients need this daemon: calls under way, and since when there have
// been none. Thread-safe.

#include "absl/time/time.h"
#include "base/clock.h"
#include "base/mutex.h"

namespace edgekiln::server {

class Activity {
 public:
  explicit Activity(Clock& clock) : clock_(clock), last_(clock.Monotonic()) {}

  // Lives as long as its call.
  class Call {
   public:
    explicit Call(Activity& activity) : activity_(activity) {
      activity_.Change(1);
    }
    ~Call() { activity_.Change(-1); }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

   private:
    Activity& activity_;
  };

  // Zero while a call is under way.
  absl::Duration IdleFor() {
    MutexLock lock(mutex_);
    return calls_ > 0 ? absl::ZeroDuration() : clock_.Monotonic() - last_;
  }

 private:
  void Change(int by) {
    MutexLock lock(mutex_);
    calls_ += by;
    last_ = clock_.Monotonic();
  }

  Clock& clock_;
  Mutex mutex_;
  int calls_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Duration last_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_ACTIVITY_H_
