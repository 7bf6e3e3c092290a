#ifndef EK_SERVER_DAEMON_FAIRNESS_PACED_CALLS_H_
#define EK_SERVER_DAEMON_FAIRNESS_PACED_CALLS_H_

// Calls that cost much and that nobody needs many of, such as lists of all
// jobs. They run one after the other, and after each there is a pause in
// proportion to the CPU time that it took, so that all of them together take no
// more than a part of one processor, however many ask and however fast. One now
// and then waits for nothing. Few wait: each of them has a thread. Of those,
// one client has half at most.

#include <chrono>
#include <functional>
#include <map>
#include <string>

#include "absl/time/time.h"
#include "base/mutex.h"

namespace edgekiln::server {

// Thread-safe.
class PacedCalls {
 public:
  // `share`: of a processor, below 1. `max_waiting`: calls at once beside the
  // one that runs.
  PacedCalls(double share, int max_waiting)
      : share_(share), max_waiting_(max_waiting) {}

  // Waits for its turn and calls `call`. False if too many wait, or too many of
  // this client: it is not called.
  bool Run(const std::string& client, const std::function<void()>& call);

 private:
  using SteadyTime = std::chrono::steady_clock::time_point;

  const double share_;
  const int max_waiting_;
  Mutex mutex_;
  CondVar ended_;
  bool running_ ABSL_GUARDED_BY(mutex_) = false;
  int waiting_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<std::string, int> waiting_of_ ABSL_GUARDED_BY(mutex_);
  SteadyTime next_ ABSL_GUARDED_BY(mutex_) = SteadyTime::min();
};

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_FAIRNESS_PACED_CALLS_H_
