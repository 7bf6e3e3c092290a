#ifndef EK_SERVER_WORKER_MEMORY_BUDGET_H_
#define EK_SERVER_WORKER_MEMORY_BUDGET_H_

// Memory that the slots of a worker share: their children's limits together
// never promise more than the machine has.

#include <cstdint>
#include <deque>
#include <functional>
#include <string>

#include "absl/time/time.h"
#include "base/mutex.h"

namespace edgekiln::server {

// 80 % of the machine's memory, or of what its control group may use if that is
// less; 0: unknown. `root` is for tests.
int64_t DefaultMemoryBudget(const std::string& root = "");

// How much a child may use, in bytes; 0: unlimited.
struct MemoryShares {
  int64_t share = 0;   // As one of many.
  int64_t whole = 0;   // Where a share was too little. At least that.
  int64_t budget = 0;  // Of all. At least `whole`.
};

// A share is the limit, or its part of a smaller budget, but not below 1 GiB,
// which all but the largest stages keep within: where that is more than the
// part, fewer children live at once.
MemoryShares ShareMemory(int64_t budget, int64_t limit, int slots);

// Who is served next is who has waited longest, also for much. Thread-safe.
class MemoryBudget {
 public:
  // `on_wanted` is called, without locks, when somebody begins to wait: who can
  // do without what it has reserved should release it.
  MemoryBudget(int64_t bytes, std::function<void()> on_wanted)
      : limited_(bytes > 0), on_wanted_(std::move(on_wanted)), free_(bytes) {}

  // Waits until that much is free. `bytes` is at most the budget. False if
  // `cancel_fd` became readable before (negative: never), or `patience` is
  // over.
  bool Reserve(int64_t bytes, int cancel_fd,
               absl::Duration patience = absl::InfiniteDuration());
  void Release(int64_t bytes);
  // Whether somebody waits.
  bool wanted() const;

 private:
  struct Waiter {
    int64_t bytes = 0;
    int ready_fd = -1;  // Readable once granted.
    bool granted = false;
  };
  void Grant() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const bool limited_;
  const std::function<void()> on_wanted_;
  mutable Mutex mutex_;
  int64_t free_ ABSL_GUARDED_BY(mutex_);
  std::deque<Waiter*> waiting_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace edgekiln::server

#endif  // EK_SERVER_WORKER_MEMORY_BUDGET_H_
