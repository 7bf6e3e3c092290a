#ifndef EK_SERVER_DAEMON_JOBS_ONE_AT_A_TIME_H_
#define EK_SERVER_DAEMON_JOBS_ONE_AT_A_TIME_H_

#include "base/mutex.h"

namespace edgekiln::server {

// Repeats a step until there is nothing left to do, in one thread at a time and
// never recursively. Thread-safe.
class OneAtATime {
 public:
  // `step` returns whether it found something to do. A call that comes while
  // another one runs, from `step` itself or from another thread, returns at
  // once, and the running call repeats the step instead. So this object must
  // outlive the running call.
  template <typename Step>
  void Run(const Step& step) {
    {
      MutexLock lock(mutex_);
      again_ = true;
      if (running_) return;
      running_ = true;
    }
    while (Again()) {
      while (step()) {
      }
    }
  }

 private:
  bool Again() {
    MutexLock lock(mutex_);
    running_ = again_;
    again_ = false;
    return running_;
  }

  Mutex mutex_;
  bool running_ ABSL_GUARDED_BY(mutex_) = false;
  bool again_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_JOBS_ONE_AT_A_TIME_H_
