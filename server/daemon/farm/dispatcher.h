#ifndef EK_SERVER_DAEMON_FARM_DISPATCHER_H_
#define EK_SERVER_DAEMON_FARM_DISPATCHER_H_

// Gives stages to connected workers. A lease belongs to one worker at a time,
// under a fencing token that changes with every attempt; what comes back under
// another token is refused. A lost worker's leases go back to the head of the
// queue. Knows workers by their messages only; the stream is a WorkerLink.
//
// Thread-safe. Callbacks are called without locks held, those of one lease one
// after the other; links under the lock, they must not call back.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mutex.h"
#include "edgekiln/v1/daemon.pb.h"
#include "edgekiln/v1/workers.pb.h"
#include "server/daemon/fairness/wait_estimate.h"
#include "server/daemon/farm/action_queue.h"
#include "server/daemon/farm/lease_queue.h"
#include "server/daemon/farm/quarantine.h"
#include "server/daemon/farm/retry_policy.h"
#include "server/daemon/farm/worker_hello.h"
#include "server/daemon/farm/worker_table.h"
#include "server/daemon/stages/lease_source.h"
#include "server/long_lease.h"

namespace edgekiln::server {

// The way to one worker. Thread-safe.
class WorkerLink {
 public:
  virtual ~WorkerLink() = default;
  // Queues; never blocks.
  virtual void Send(const v1::DaemonMessage& message) = 0;
  // Ends the stream with `why`.
  virtual void Close(const absl::Status& why) = 0;
};

struct DispatcherOptions {
  std::string build_digest;     // Of this daemon; workers must have the same.
  std::string workers_address;  // For the advice when no worker is there.
  absl::Duration heartbeat = absl::Seconds(2);
  int missed_heartbeats = 5;  // Silent for that many: lost.
  absl::Duration lease_timeout = absl::Minutes(10);
  // A lease waits this long for a worker before it complains.
  absl::Duration waiting_grace = absl::Seconds(1);
  // Not more often it says how many are before it.
  absl::Duration position_interval = absl::Seconds(5);
  RetryLimits retries;
  int max_workers = 1024;
  int max_worker_slots = 256;  // Of one worker; it gets no more leases.
  // Minimum interval between the progress reports of a lease that are passed
  // on.
  absl::Duration progress_interval = absl::Milliseconds(100);
  // In which callbacks are called and results are taken; 0: in the thread that
  // causes them.
  int callback_threads = 0;
  // The result that a worker has uploaded, or sent together with its outputs,
  // which are stored. Empty: no worker may.
  std::function<absl::StatusOr<v1::StageResult>(v1::WorkerMessage::Result)>
      take_result;
  // Must outlive the dispatcher; null: nothing is quarantined.
  Quarantine* quarantine = nullptr;
  HoldLimits holds;
  // One that takes longer lends its slot (server/long_lease.h); infinite: none
  // does, of class BATCH neither.
  absl::Duration long_lease = kLongLease;
  // Until a cancelled lease's slot is used again without an answer.
  absl::Duration cancel_grace = absl::Seconds(3);
};

// The compiler that such a stage needs; null if none.
const v1::Compiler* CompilerOf(const v1::StageOptions& options);

class Dispatcher : public LeaseSource {
 public:
  Dispatcher(DispatcherOptions options, Clock& clock, Logger& log);
  // Every lease must be over.
  ~Dispatcher() override = default;

  uint64_t Submit(LeaseRequest request, LeaseCallbacks callbacks) override;
  void Cancel(uint64_t lease_id) override;
  void Promote(uint64_t lease_id, v1::JobClass job_class) override;
  std::optional<v1::Compiler> FindCompiler(v1::CompilerFamily family,
                                           const std::string& program) override;

  // A worker introduced itself and is who it should be; the answer is its
  // handle. It is sent `welcome`, completed. `link` must outlive Disconnect().
  // Errors: FAILED_PRECONDITION (another build), INVALID_ARGUMENT (no role or
  // no slot), RESOURCE_EXHAUSTED (too many workers).
  absl::StatusOr<uint64_t> Connect(const v1::WorkerMessage::Hello& hello,
                                   WorkerLink* link,
                                   v1::DaemonMessage::Welcome welcome = {});
  void Receive(uint64_t worker, v1::WorkerMessage message);
  // Idempotent. Its leases are queued again. Never waits for callbacks.
  void Disconnect(uint64_t worker);

  // Looks for silent workers, overdue leases and reasons to complain. To be
  // called about once a heartbeat, or more often.
  void Tick();

  // No lease is given to a worker from now on; those that have one go on.
  void Drain();
  // Leases that a worker has, and results that are being dealt with.
  int LeasesOut();

  // Fails all leases with UNAVAILABLE, refuses new ones and closes all links.
  // Returns once all callbacks have been called.
  void Shutdown();

  void SetWorkersAddress(const std::string& address);
  int WorkerCount(v1::WorkerRole role);
  // Adds the workers and the number of leases without one.
  void Describe(v1::DaemonStatus& status);
  // Results that came too late or from the wrong worker.
  int64_t refused_results();

 private:
  struct Lease {
    LeaseRequest request;
    LeaseCallbacks callbacks;
    absl::Duration queued;       // Since when it has been without a worker.
    v1::JobEvent::Waiting told;  // Its last complaint.
    absl::Duration told_at;
    RetryRecord retries;
    uint64_t failed_on = kNoWorker;  // The last worker it failed on.
    int64_t lost_with = 0;  // Leases that were lost with it, itself included.
    // Its worker executes those that follow, too. One that has failed goes
    // alone, so that it is known which stage fails.
    bool with_next = true;
    // 0: queued, resting, or its result is being taken.
    uint64_t worker = 0;
    uint64_t token = 0;
    absl::Duration leased;
    absl::Duration progressed = -absl::InfiniteDuration();
  };
  // What is to be done once the lock is released, each for a lease.
  struct Action {
    uint64_t lease_id = 0;
    bool background = false;  // Others go before it (action_queue.h).
    std::function<void()> run;
  };
  using Actions = std::vector<Action>;

  static bool IsBackground(const Lease& lease) {
    return lease.request.owner.job_class == v1::BATCH;
  }

  // Hands `actions` to the threads for them, in the order of the lock; without
  // threads they stay, to be run by RunAll().
  void Flush(Actions& actions) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  static void RunAll(Actions& actions);

  void Assign(Actions& actions) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Whether leases of some class may have one more slot of a worker.
  class Reserves;
  Reserves ReservesAt(absl::Duration now) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Gives the lease that a worker was kept free for to an idle one, if there is
  // one by now.
  void GiveKept(Actions& actions) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  WorkerWish WishOf(uint64_t lease_id, const Lease& lease) const;
  void Give(uint64_t lease_id, Lease& lease, uint64_t worker_id,
            Actions& actions) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void OnProgress(const ConnectedWorker& worker,
                  const v1::WorkerMessage::Progress& progress, Actions& actions)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void OnResult(uint64_t worker_id, v1::WorkerMessage::Result result,
                Actions& actions) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::StatusOr<v1::StageResult> Take(v1::WorkerMessage::Result sent) const;
  void TakeNext(v1::WorkerMessage::Result& sent, LeaseOutcome& outcome) const;
  // Gets `outcome` from `sent`, outside of the lock.
  void TakeResult(uint64_t worker_id, v1::WorkerMessage::Result sent,
                  LeaseOutcome outcome);
  void Succeed(uint64_t lease_id, uint64_t worker_id, LeaseOutcome outcome,
               Actions& actions) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The worker says that it failed.
  void OnError(uint64_t lease_id, uint64_t worker_id, v1::ErrorDetail error,
               Actions& actions) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Queues it again, lets it rest, or ends it.
  void Follow(uint64_t lease_id, const RetryRecord::Verdict& verdict,
              const absl::Status& why, Actions& actions)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // `culprit`: the lease that is the cause, 0 if it is not known.
  void Lose(uint64_t worker_id, const absl::Status& why, bool close,
            uint64_t culprit, Actions& actions)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void EndRests() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Complete(uint64_t lease_id, absl::StatusOr<LeaseOutcome> outcome,
                Actions& actions) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Ends leases whose compiler no connected worker has.
  void FailWithoutCompiler(Actions& actions)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void RememberCompilers(const ConnectedWorker& worker)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Complain(Actions& actions) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool HasComplaint(const Lease& lease, absl::Duration now) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Of slots with that role: what they work on.
  WaitEstimate BusyUntil(v1::WorkerRole role, absl::Duration now) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  DispatcherOptions options_;  // workers_address: guarded by mutex_.
  Clock& clock_;
  Logger& log_;
  Mutex mutex_;
  std::map<uint64_t, Lease> leases_ ABSL_GUARDED_BY(mutex_);
  WorkerTable workers_ ABSL_GUARDED_BY(mutex_){options_.long_lease};
  // Leases without a worker.
  LeaseQueue queue_ ABSL_GUARDED_BY(mutex_);
  RecentDurations recent_ ABSL_GUARDED_BY(mutex_);  // By stage.
  absl::Duration complained_at_ ABSL_GUARDED_BY(mutex_) =
      -absl::InfiniteDuration();
  // Leases that wait for room on a disk, and until when.
  std::map<uint64_t, absl::Duration> resting_ ABSL_GUARDED_BY(mutex_);
  int64_t lost_leases_ ABSL_GUARDED_BY(mutex_) = 0;  // With their workers.
  // Of workers since the start, each family and program once.
  static constexpr size_t kMaxShownCompilers = 256;
  std::vector<v1::Compiler> shown_compilers_ ABSL_GUARDED_BY(mutex_);
  WorkerShortage shortage_ ABSL_GUARDED_BY(mutex_);
  uint64_t next_id_ ABSL_GUARDED_BY(mutex_) = 1;
  uint64_t next_token_ ABSL_GUARDED_BY(mutex_);
  int64_t refused_ ABSL_GUARDED_BY(mutex_) = 0;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  bool draining_ ABSL_GUARDED_BY(mutex_) = false;
  ActionQueue callbacks_;  // Last: its threads use the rest.
};

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_FARM_DISPATCHER_H_
