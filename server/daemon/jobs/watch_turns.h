#ifndef EK_SERVER_DAEMON_JOBS_WATCH_TURNS_H_
#define EK_SERVER_DAEMON_JOBS_WATCH_TURNS_H_

// Whose turn it is among those who watch over one connection. Events go to few
// of them at a time: with thousands that want the same one, gRPC's threads
// would be theirs for half a second. Who does not read what it is sent holds up
// others of its own connection only. Thread-safe.

#include <deque>

#include "base/mutex.h"
#include "server/executor.h"

namespace edgekiln::server {

class WatchTurns {
 public:
  static constexpr int kAtOnce = 8;

  // Turns begin in the threads of `executor`, in turns with those of other
  // connections and with jobs.
  explicit WatchTurns(Executor& executor) : executor_(executor) {}

  // Posts `work` once it may go, now or later; or the caller's turn has begun
  // if that is true. Each turn is followed by one End().
  void Begin(Executor::Work& work);
  bool TryBegin();
  void End();

 private:
  Executor executor_;
  Mutex mutex_;
  int taken_ ABSL_GUARDED_BY(mutex_) = 0;
  std::deque<Executor::Work*> waiting_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_JOBS_WATCH_TURNS_H_
