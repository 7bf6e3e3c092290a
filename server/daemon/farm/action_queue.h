#ifndef EK_SERVER_DAEMON_FARM_ACTION_QUEUE_H_
#define EK_SERVER_DAEMON_FARM_ACTION_QUEUE_H_

// Runs what follows from a worker's message in threads of its own: the stream's
// read loop must not wait for disks, parsers or jobs.

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "base/mutex.h"

namespace edgekiln::server {

// Actions of one key run one after the other, in the order in which they were
// posted. Thread-safe.
class ActionQueue {
 public:
  // Fewer threads than that if the system gives no more.
  explicit ActionQueue(int threads);
  ~ActionQueue() { Stop(); }

  // False, and nothing is done, without threads and after Stop(): the caller
  // runs it. Never waits.
  bool Post(uint64_t key, std::function<void()> action);

  // Returns once everything posted has run.
  void Stop();

  // What was posted and has not run to its end.
  int Pending() const { return pending_; }

 private:
  struct Lane {
    Mutex mutex;
    CondVar changed;
    std::deque<std::function<void()>> actions ABSL_GUARDED_BY(mutex);
    bool stopping ABSL_GUARDED_BY(mutex) = false;
    std::thread thread;
  };
  void Run(Lane& lane);

  std::atomic<int> pending_{0};
  std::vector<std::unique_ptr<Lane>> lanes_;
};

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_FARM_ACTION_QUEUE_H_
