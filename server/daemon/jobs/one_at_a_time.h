#ifndef EK_SERVER_DAEMON_JOBS_ONE_AT_A_TIME_H_
#define EK_SERVER_DAEMON_JOBS_ONE_AT_A_TIME_H_

#include "base/mutex.h"

namespace edgekiln::server {

// Repeats a step until there is nothing left to do, in one thread at a time and
// never inside of itself. Thread-safe.
class OneAtATime {
 public:
  // `step` returns whether it found something to do. Calls that come while it
  // runs, from within or from other threads, return at once: whoever is at it
  // looks once more. So the object must outlive the calls that were told so.
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
