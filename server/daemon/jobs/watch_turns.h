#ifndef EK_SERVER_DAEMON_JOBS_WATCH_TURNS_H_
#define EK_SERVER_DAEMON_JOBS_WATCH_TURNS_H_

// Limits how many watchers of one connection are sent events at a time.
// Thousands of watchers of one job want the same event at once, and would
// occupy gRPC's threads for half a second. A watcher that does not read what it
// is sent loses its turn with the second Tick(): others of its connection,
// which on a Unix socket are all, do not wait for it. Thread-safe.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include "base/mutex.h"
#include "server/executor.h"

namespace edgekiln::server {

class WatchTurns {
 public:
  static constexpr size_t kAtOnce = 8;

  // Shares the threads of `executor` with jobs and other connections, and takes
  // turns with them (executor.h). It must outlive this.
  explicit WatchTurns(Executor& executor) : executor_(executor) {}

  // Begins a turn: posts `work` now, or once a turn is free, in the order of
  // calls. `work` must live until it runs. Never blocks.
  void Begin(Executor::Work& work);
  // Begins a turn of `work` in the calling thread if one is free; false if none
  // is.
  bool TryBegin(const Executor::Work& work);
  // Ends its turn, exactly once for each; the next in line begins.
  void End(const Executor::Work& work);
  // To be called several times a second.
  void Tick();

 private:
  // Those whose turns begin now.
  std::vector<Executor::Work*> Next() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Executor executor_;
  Mutex mutex_;
  // The number of ticks when it began.
  std::map<const Executor::Work*, int64_t> taken_ ABSL_GUARDED_BY(mutex_);
  int64_t ticks_ ABSL_GUARDED_BY(mutex_) = 0;
  std::deque<Executor::Work*> waiting_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_JOBS_WATCH_TURNS_H_
