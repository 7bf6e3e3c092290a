#ifndef EK_SERVER_WORKER_LEASE_EXECUTOR_H_
#define EK_SERVER_WORKER_LEASE_EXECUTOR_H_

// Executes leases: a thread and a child process per slot.

#include <cstdint>
#include <deque>
#include <memory>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "edgekiln/v1/workers.pb.h"
#include "server/worker/blob_client.h"
#include "server/worker/child_process.h"
#include "server/worker/current_compilers.h"
#include "server/worker/long_stages.h"
#include "server/worker/memory_budget.h"
#include "server/worker/slot_child.h"

namespace edgekiln::server {

// Where messages to the daemon go; one per session. Thread-safe. Send() after
// the session has ended does nothing.
class MessageSink {
 public:
  virtual ~MessageSink() = default;
  virtual void Send(const v1::WorkerMessage& message) = 0;
};

// Thread-safe.
class LeaseExecutor {
 public:
  // `blobs` and `compilers` must outlive the executor. All slots, spare ones
  // included (server/long_lease.h), together use no more memory than the budget
  // (0: no matter how much). Firmware is built with those compilers, by a
  // builder (child_process.h); null: with any. Where one is not there, or no
  // longer, `sink` gets a Hello with those that are, before the result.
  LeaseExecutor(int slots, ChildOptions child, BlobClient& blobs,
                int64_t memory_budget_bytes = 0,
                CurrentCompilers* compilers = nullptr);
  // Kills what is being executed.
  ~LeaseExecutor();

  // Executes the lease as soon as a slot is free. Exactly one Result goes to
  // `sink`, also after Cancel(): then an infra_error of code CANCELLED, or what
  // was finished before, without the stage that Cancel() met.
  void Add(v1::DaemonMessage::Lease lease, std::shared_ptr<MessageSink> sink);
  // Kills the lease's process; unknown ids are ignored (it has just ended).
  void Cancel(uint64_t lease_id);
  void CancelAll();
  // Sends the state of every lease held, also of those that wait for a slot.
  void SendProgress();

 private:
  struct Held;

  // A spare slot executes what comes while all others are busy, and has no
  // child at other times.
  void RunSlot(bool is_spare);
  // Waits for it; null at the end.
  std::shared_ptr<Held> Next(bool is_spare, SlotChild& child)
      ABSL_LOCKS_EXCLUDED(mutex_);
  bool MayTake(bool is_spare) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Others go on meanwhile: the system may take long to end a large process.
  void Yield(SlotChild& child) ABSL_LOCKS_EXCLUDED(mutex_);
  v1::WorkerMessage::Result Execute(Held& held, SlotChild& child);
  // Leaves in `result` what the stage has made. Errors: failures of ours.
  absl::Status ExecuteStage(const v1::ChildRequest& request,
                            bool tells_progress, Held& held, SlotChild& child,
                            v1::WorkerMessage::Result& result);
  // The stages that follow the lease's own, as far as `result` can take them.
  void ExecuteNext(Held& held, SlotChild& child,
                   v1::WorkerMessage::Result& result);
  // In a child of its own, which ends with the lease.
  v1::WorkerMessage::Result Build(Held& held);
  v1::WorkerMessage::Result BuildWith(const InstalledCompilers* compilers,
                                      Held& held);

  const int num_slots_;  // Without spare ones.
  const int num_spare_slots_;
  // Else a slot that has executed a BATCH lease, or a long one, would stay
  // slow.
  const bool may_raise_priority_;
  const std::unique_ptr<LongStages> long_stages_;  // Null where it may not.
  const ChildOptions child_options_;
  CurrentCompilers* const compilers_;
  const MemoryShares memory_shares_;
  MemoryBudget memory_;
  BlobClient& blobs_;
  Mutex mutex_;
  CondVar changed_;
  CondVar all_busy_;  // For spare slots.
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  int busy_slots_ ABSL_GUARDED_BY(mutex_) = 0;  // Without spare ones.
  std::deque<std::shared_ptr<Held>> waiting_ ABSL_GUARDED_BY(mutex_);
  // With waiting_.
  std::vector<std::shared_ptr<Held>> held_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::thread> slots_;
};

}  // namespace edgekiln::server

#endif  // EK_SERVER_WORKER_LEASE_EXECUTOR_H_
