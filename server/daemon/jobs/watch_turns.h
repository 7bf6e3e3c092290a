#ifndef EK_SERVER_DAEMON_JOBS_WATCH_TURNS_H_
#define EK_SERVER_DAEMON_JOBS_WATCH_TURNS_H_

// Limits how many watchers of one connection are sent events at a time.
// Thousands of watchers of one job want the same event at once, and would
// occupy gRPC's threads for half a second. A watcher that does not read what it
// is sent holds its turn, and so delays only its own connection. Thread-safe.

#include <deque>

#include "base/mutex.h"
#include "server/executor.h"

namespace edgekiln::server {

class WatchTurns {
 public:
  static constexpr int kAtOnce = 8;

  // Shares the threads of `executor` with jobs and other connections, and takes
  // turns with them (executor.h). It must outlive this.
  explicit WatchTurns(Executor& executor) : executor_(executor) {}

  // Begins a turn: posts `work` now, or once a turn is free, in the order of
  // calls. `work` must live until it runs. Never blocks.
  void Begin(Executor::Work& work);
  // Begins a turn in the calling thread if one is free; false if none is.
  bool TryBegin();
  // Ends a turn, exactly once for each; the next in line begins.
  void End();

 private:
  Executor executor_;
  Mutex mutex_;
  int taken_ ABSL_GUARDED_BY(mutex_) = 0;
  std::deque<Executor::Work*> waiting_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_JOBS_WATCH_TURNS_H_
