#ifndef EK_SERVER_DAEMON_FARM_LEASE_QUEUE_H_
#define EK_SERVER_DAEMON_FARM_LEASE_QUEUE_H_

// Leases without a worker, in the order of fair_queue.h: by class, compile
// stages before simulations, then round robin between clients and between the
// jobs of a client, then by lease id. A lease that lost its worker has an old
// id, and so is the next of its job. Thread-compatible.

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "absl/time/time.h"
#include "edgekiln/v1/workers.pb.h"
#include "server/daemon/fairness/fair_queue.h"
#include "server/daemon/stages/lease_source.h"

namespace edgekiln::server {

class LeaseQueue {
 public:
  void Push(uint64_t lease_id, const LeaseOwner& owner, v1::WorkerRole role,
            absl::Duration now);
  // Nothing if it is not queued.
  void Remove(uint64_t lease_id) { queue_.Remove(lease_id); }
  void Promote(uint64_t lease_id, v1::JobClass job_class, absl::Duration now);

  // Whether a worker takes leases of that class and role at present.
  using Admits = std::function<bool(v1::JobClass, v1::WorkerRole)>;
  // The next of those, which stays. Whoever does not fit is passed over, and
  // keeps its turn.
  std::optional<FairQueue::Choice> Next(absl::Duration now,
                                        const Admits& admits,
                                        const FairQueue::Fits& fits) const;
  void Take(const FairQueue::Choice& choice) { queue_.Take(choice); }
  // One whose worker was kept free for it. It must be queued.
  void Take(uint64_t lease_id) { queue_.Take(lease_id); }
  // All, in the order in which they would go if nothing else came.
  std::vector<uint64_t> Order(absl::Duration now) const {
    return queue_.Order(now);
  }
  bool Contains(uint64_t lease_id) const { return queue_.Contains(lease_id); }
  bool empty() const { return queue_.empty(); }
  size_t size() const { return queue_.size(); }
  // Whether leases of classes after that one wait.
  bool HasAfter(v1::JobClass job_class) const {
    return queue_.HasAfter(job_class);
  }

  // Of `slots` slots for a role, how many CI and BATCH leave alone, as a lease
  // is never taken back from its worker: an eighth, at least one of two, while
  // something INTERACTIVE has come within the last minute.
  int Reserve(int slots, absl::Duration now) const;
  // False: Reserve() is 0 for any number.
  bool Reserves(absl::Duration now) const;

 private:
  FairQueue queue_;
  absl::Duration interactive_at_ = -absl::InfiniteDuration();
};

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_FARM_LEASE_QUEUE_H_
