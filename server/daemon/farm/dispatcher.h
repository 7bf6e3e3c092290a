#ifndef EK_SERVER_DAEMON_FARM_DISPATCHER_H_
#define EK_SERVER_DAEMON_FARM_DISPATCHER_H_

// Gives stages to connected workers. A lease belongs to one worker at a time,
// under a fencing token that changes with every attempt; what comes back under
// another token is refused. A lost worker's leases go back to the head of the
// queue. Knows workers by their messages only; the stream is a WorkerLink.
//
// Thread-safe. Callbacks are called without locks held; links under the lock,
// they must not call back.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mutex.h"
#include "edgekiln/v1/workers.pb.h"
#include "server/daemon/fairness/wait_estimate.h"
#include "server/daemon/farm/lease_queue.h"
#include "server/daemon/farm/worker_hello.h"
#include "server/daemon/stages/lease_source.h"

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
  // Minimum interval between updates of its place in the queue.
  absl::Duration position_interval = absl::Seconds(5);
  // A stage that fails on our side so often is given up.
  int max_infra_errors = 3;
  // So often a stage may lose its worker. More than above: a worker may die of
  // its neighbour's lease, or of its administrator.
  int max_losses = 6;
  // A slot is held for the next stage of a job for that long, and so many
  // times in a row.
  absl::Duration hold = absl::Milliseconds(100);
  int max_holds = 16;
  // Until a cancelled lease's slot is used again without an answer.
  absl::Duration cancel_grace = absl::Seconds(3);
};

class Dispatcher : public LeaseSource {
 public:
  Dispatcher(DispatcherOptions options, Clock& clock, Logger& log);
  // Every lease must be over.
  ~Dispatcher() override = default;

  uint64_t Submit(LeaseRequest request, LeaseCallbacks callbacks) override;
  void Cancel(uint64_t lease_id) override;
  void Promote(uint64_t lease_id, v1::JobClass job_class) override;

  // A worker introduced itself; the answer is its handle. `link` must outlive
  // Disconnect(). Errors: FAILED_PRECONDITION (another build),
  // INVALID_ARGUMENT (no role or no slot).
  absl::StatusOr<uint64_t> Connect(const v1::WorkerMessage::Hello& hello,
                                   WorkerLink* link);
  void Receive(uint64_t worker, const v1::WorkerMessage& message);
  // Idempotent. Its leases are queued again.
  void Disconnect(uint64_t worker);

  // Looks for silent workers, overdue leases and reasons to complain. To be
  // called about once a heartbeat, or more often.
  void Tick();

  // No lease is given to a worker from now on; those that have one go on.
  void Drain();
  // Leases that a worker has, and results that are being stored.
  int LeasesOut();

  // Fails all leases with UNAVAILABLE, refuses new ones and closes all links.
  void Shutdown();

  void SetWorkersAddress(const std::string& address);
  int WorkerCount(v1::WorkerRole role);
  // Results that came too late or from the wrong worker.
  int64_t refused_results();

 private:
  struct Lease {
    LeaseRequest request;
    LeaseCallbacks callbacks;
    absl::Duration queued;       // Since when it has been without a worker.
    v1::JobEvent::Waiting told;  // Its last complaint.
    absl::Duration told_at;
    int infra_errors = 0;
    int losses = 0;
    uint64_t worker = 0;  // 0: queued.
    uint64_t token = 0;
    absl::Duration leased;
  };
  struct Worker {
    WorkerLink* link = nullptr;
    std::string name;
    std::vector<v1::WorkerRole> roles;
    bool Does(v1::WorkerRole role) const {
      return std::count(roles.begin(), roles.end(), role) > 0;
    }
    int free_slots = 0;
    absl::Duration last_heard;
    // Its last lease to end, and when: the next stage of that job, which is
    // about to come, goes before leases of later classes.
    v1::JobClass ended_class = v1::BATCH;
    absl::Duration ended_at = -absl::InfiniteDuration();
    int holds = 0;  // Since leases of later classes last had a chance.
    // Cancelled leases it has not answered for yet, and since when.
    std::map<uint64_t, absl::Duration> draining;
    std::map<uint64_t, uint64_t> leases;  // Id to token.
  };
  // What is to be done once the lock is released.
  using Actions = std::vector<std::function<void()>>;

  // A free slot of some worker with that role.
  struct Slot {
    uint64_t worker = 0;  // 0: none.
    // Leases of later classes leave it alone.
    v1::JobClass lowest = v1::BATCH;
  };

  void Assign(Actions& actions) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Slot FindSlot(v1::WorkerRole role, absl::Duration now) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // 0 if none with that role has a free slot.
  uint64_t FindWorker(v1::WorkerRole role) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Give(uint64_t lease_id, Lease& lease, uint64_t worker_id, Worker& worker,
            Actions& actions) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void OnResult(uint64_t worker_id, Worker& worker,
                const v1::WorkerMessage::Result& result, Actions& actions)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Retry(uint64_t lease_id, const absl::Status& why, bool lost,
             Actions& actions) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Lose(uint64_t worker_id, const absl::Status& why, bool close,
            Actions& actions) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Complete(uint64_t lease_id, absl::StatusOr<LeaseOutcome> outcome,
                Actions& actions) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Complain(Actions& actions) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool HasComplaint(const Lease& lease, absl::Duration now) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Of slots with that role: what they work on.
  WaitEstimate BusyUntil(v1::WorkerRole role, absl::Duration now) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool HasRole(v1::WorkerRole role) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  DispatcherOptions options_;  // workers_address: guarded by mutex_.
  Clock& clock_;
  Logger& log_;
  Mutex mutex_;
  std::map<uint64_t, Lease> leases_ ABSL_GUARDED_BY(mutex_);
  std::map<uint64_t, Worker> workers_ ABSL_GUARDED_BY(mutex_);
  // Leases without a worker.
  LeaseQueue queue_ ABSL_GUARDED_BY(mutex_);
  RecentDurations recent_ ABSL_GUARDED_BY(mutex_);  // By stage.
  absl::Duration complained_at_ ABSL_GUARDED_BY(mutex_) =
      -absl::InfiniteDuration();
  WorkerShortage shortage_ ABSL_GUARDED_BY(mutex_);
  uint64_t next_id_ ABSL_GUARDED_BY(mutex_) = 1;
  uint64_t next_token_ ABSL_GUARDED_BY(mutex_);
  int64_t refused_ ABSL_GUARDED_BY(mutex_) = 0;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  bool draining_ ABSL_GUARDED_BY(mutex_) = false;
  int storing_ ABSL_GUARDED_BY(mutex_) = 0;  // Callbacks of results under way.
};

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_FARM_DISPATCHER_H_
