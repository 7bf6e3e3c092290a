#ifndef EK_SERVER_DAEMON_FARM_ACTION_QUEUE_H_
#define EK_SERVER_DAEMON_FARM_ACTION_QUEUE_H_

// Runs what follows from a worker's message in threads of its own: the stream's
// read loop must not wait for disks, parsers or jobs.

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "server/background_turns.h"

namespace edgekiln::server {

// Actions with the same key run one after the other, in the order of posting.
// Actions with other keys do not wait for them while a thread is free; those in
// the background wait for the rest (server/background_turns.h). Thread-safe.
class ActionQueue {
 public:
  // Fewer threads than that if the system gives no more.
  explicit ActionQueue(int threads);
  ~ActionQueue() { Stop(); }

  // False, and `action` is left as it is, without threads and after Stop(): the
  // caller runs it. Never waits. What waits of a key is in the background until
  // something is posted for it that is not.
  bool Post(uint64_t key, std::function<void()>&& action,
            bool background = false);

  // Returns once everything posted has run.
  void Stop();

  // What was posted and has not run to its end.
  int Pending() const { return pending_; }

 private:
  struct Actions {
    std::deque<std::function<void()>> actions;
    bool background = false;
  };
  using Turns = std::deque<uint64_t>;

  Turns& TurnsOf(const Actions& actions) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return actions.background ? background_turns_ : turns_;
  }
  bool IsIdle() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return turns_.empty() && background_turns_.empty();
  }
  void Run();

  std::atomic<int> pending_{0};
  Mutex mutex_;
  CondVar changed_;
  // Waiting actions by key. A key with a running action has an entry, too,
  // which may be empty.
  std::map<uint64_t, Actions> actions_ ABSL_GUARDED_BY(mutex_);
  // Keys with a waiting and no running action, in the order of their turns.
  Turns turns_ ABSL_GUARDED_BY(mutex_);
  Turns background_turns_ ABSL_GUARDED_BY(mutex_);
  BackgroundTurns next_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_FARM_ACTION_QUEUE_H_
