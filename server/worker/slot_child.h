#ifndef EK_SERVER_WORKER_SLOT_CHILD_H_
#define EK_SERVER_WORKER_SLOT_CHILD_H_

// The child process of a slot, within the memory that all slots share.

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "server/worker/child_process.h"
#include "server/worker/memory_budget.h"

namespace edgekiln::server {

// A living child keeps its share reserved, also while it is idle. Not
// thread-safe; as ChildProcess, it belongs to one thread.
class SlotChild {
 public:
  // `budget` must outlive the object.
  SlotChild(ChildOptions options, const MemoryShares& shares,
            MemoryBudget& budget)
      : options_(std::move(options)), shares_(shares), budget_(budget) {}
  ~SlotChild() { Drop(); }
  SlotChild(const SlotChild&) = delete;
  SlotChild& operator=(const SlotChild&) = delete;

  // As ChildProcess::Execute(), but that it waits for memory first. A stage for
  // which a share was too little executes again with all that a child may have.
  // `timeout` is for all of it; UNAVAILABLE, WORKER_OUT_OF_MEMORY if most of it
  // went before the stage had its memory.
  absl::StatusOr<v1::ChildReply::Result> Execute(
      const v1::ChildRequest& request, absl::string_view stage,
      absl::Duration timeout, int cancel_fd,
      const ChildProcess::Handlers& handlers);

  // As ChildProcess::SetBackground().
  void SetBackground(bool background);

  // Ends the child, if there is one, and gives back what it had reserved.
  void Drop();
  bool HasChild() const { return child_ != nullptr; }
  // Whether the idle child should give way: another slot waits for memory.
  bool IsWanted() const { return child_ != nullptr && budget_.wanted(); }
  // Ends it then, which takes as long as the system takes to free its memory.
  void YieldIfWanted() {
    if (IsWanted()) Drop();
  }

 private:
  struct Times {
    absl::Duration timeout;
    absl::Duration deadline;  // Monotonic.
  };
  absl::StatusOr<v1::ChildReply::Result> ExecuteWithin(
      int64_t bytes, const v1::ChildRequest& request, absl::string_view stage,
      const Times& times, int cancel_fd,
      const ChildProcess::Handlers& handlers);

  const ChildOptions options_;
  const MemoryShares shares_;
  MemoryBudget& budget_;
  std::unique_ptr<ChildProcess> child_;
  int64_t reserved_bytes_ = 0;  // For `child_`.
  bool background_ = false;
};

}  // namespace edgekiln::server

#endif  // EK_SERVER_WORKER_SLOT_CHILD_H_
