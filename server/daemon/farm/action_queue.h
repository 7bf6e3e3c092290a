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

namespace edgekiln::server {

// Actions with the same key run one after the other, in the order of posting.
// Actions with other keys do not wait for them while a thread is free.
// Thread-safe.
class ActionQueue {
 public:
  // Fewer threads than that if the system gives no more.
  explicit ActionQueue(int threads);
  ~ActionQueue() { Stop(); }

  // False, and `action` is left as it is, without threads and after Stop(): the
  // caller runs it. Never waits.
  bool Post(uint64_t key, std::function<void()>&& action);

  // Returns once everything posted has run.
  void Stop();

  // What was posted and has not run to its end.
  int Pending() const { return pending_; }

 private:
  using Actions = std::deque<std::function<void()>>;

  void Run();

  std::atomic<int> pending_{0};
  Mutex mutex_;
  CondVar changed_;
  // Waiting actions by key. A key with a running action has an entry, too,
  // which may be empty.
  std::map<uint64_t, Actions> actions_ ABSL_GUARDED_BY(mutex_);
  // Keys with a waiting and no running action, in the order of their turns.
  std::deque<uint64_t> turns_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_FARM_ACTION_QUEUE_H_
