#ifndef EK_SERVER_DAEMON_JOBS_WATCH_TURNS_H_
#define EK_SERVER_DAEMON_JOBS_WATCH_TURNS_H_

// Limits how many of a group of watchers are sent events at a time and, where
// that is asked for, how many events all of them are sent in a second.
// Thousands of watchers of one job want the same event at once, and would
// occupy gRPC's threads for half a second. Those that wait take turns by
// connection. A watcher that does not read what it is sent loses its turn with
// the second Tick(): others, which on a Unix socket have the same connection,
// do not wait for it. Thread-safe.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "server/daemon/fairness/fair_queue.h"
#include "server/executor.h"

namespace edgekiln::server {

class WatchTurns {
 public:
  static constexpr size_t kAtOnce = 8;
  static constexpr int64_t kUnlimited = std::numeric_limits<int64_t>::max();

  // Shares the threads of `executor` with jobs and other connections, and takes
  // turns with them (executor.h). It must outlive this. `events_per_tick`: what
  // may be sent between two calls of Tick(). Each turn counts as `turn_events`,
  // whatever it sends. Events are counted only after they are sent; what
  // exceeds the limit is taken from that of the next ticks. Where there is a
  // limit, turns are in the background.
  explicit WatchTurns(Executor& executor, int64_t events_per_tick = kUnlimited,
                      int64_t turn_events = 1)
      : executor_(executor, events_per_tick != kUnlimited),
        events_per_tick_(events_per_tick),
        turn_events_(turn_events),
        allowance_(events_per_tick) {}

  // Begins a turn: posts `work` now, or once a turn is free, in the order of
  // calls, in turns with other connections. `work` must live until it runs.
  // Never blocks.
  void Begin(Executor::Work& work, const std::string& connection = "");
  // Begins a turn of `work` in the calling thread if one is free; false if none
  // is.
  bool TryBegin(const Executor::Work& work);
  // True if it waits for its turn, which it then no longer does.
  bool Withdraw(const Executor::Work& work);
  // In its turn, that many events are sent.
  void Count(size_t events);
  // Ends its turn, exactly once for each; the next in line begins.
  void End(const Executor::Work& work);
  // To be called several times a second.
  void Tick();

 private:
  bool IsFree() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return taken_.size() < kAtOnce && allowance_ > 0;
  }
  void Take(const Executor::Work& work) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Pay(int64_t events) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Those whose turns begin now.
  std::vector<Executor::Work*> Next() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Executor executor_;
  const int64_t events_per_tick_;
  const int64_t turn_events_;
  Mutex mutex_;
  int64_t allowance_ ABSL_GUARDED_BY(mutex_);
  // The number of ticks when it began.
  std::map<const Executor::Work*, int64_t> taken_ ABSL_GUARDED_BY(mutex_);
  int64_t ticks_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t next_id_ ABSL_GUARDED_BY(mutex_) = 1;
  FairQueue queue_ ABSL_GUARDED_BY(mutex_);
  // Those in the queue, by id and the other way round.
  std::map<uint64_t, Executor::Work*> waiting_ ABSL_GUARDED_BY(mutex_);
  std::map<const Executor::Work*, uint64_t> ids_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_JOBS_WATCH_TURNS_H_
