#ifndef EK_SERVER_DAEMON_FARM_WORKER_TABLE_H_
#define EK_SERVER_DAEMON_FARM_WORKER_TABLE_H_

// The connected workers, and which of them gets the next lease.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "edgekiln/v1/jobs.pb.h"
#include "edgekiln/v1/workers.pb.h"
#include "server/daemon/farm/slot_holds.h"
#include "server/daemon/farm/worker_speed.h"

namespace edgekiln::server {

class WorkerLink;

inline constexpr uint64_t kNoWorker = 0;

struct ConnectedWorker {
  WorkerLink* link = nullptr;
  std::string name;
  std::vector<v1::WorkerRole> roles;
  std::vector<v1::Compiler> compilers;
  int slots = 0;
  int spare_slots = 0;
  // Leases it may hold now, at most `slots`: few until it has answered some,
  // fewer after a failure, so that nobody gets all that waits by asking for it.
  int window = 0;
  absl::Duration connected;
  absl::Duration last_heard;
  int64_t succeeded = 0;  // Leases.
  int64_t failures = 0;
  absl::Duration failed = -absl::InfiniteDuration();  // The last time.
  SlotHolds holds;
  // Cancelled leases it has not answered for yet, and since when.
  std::map<uint64_t, absl::Duration> draining;
  struct Lease {
    uint64_t token = 0;
    absl::Duration since;
    bool background = false;  // Of class BATCH when it was given.
  };
  std::map<uint64_t, Lease> leases;  // By id.
  // Kept free of others for, or held alone by, this lease; 0: none.
  uint64_t alone_with = 0;

  // For leases of that class, with lent slots.
  int free_slots(v1::JobClass job_class, absl::Duration long_lease,
                 absl::Duration now) const;
  // Beyond the window (server/long_lease.h), by at most half of it: as many as
  // it has leases of class BATCH, whose processes give way to others, or since
  // `long_lease` or longer.
  int lent_slots(absl::Duration long_lease, absl::Duration now) const;
  int used_slots() const {
    return static_cast<int>(leases.size() + draining.size());
  }
  bool HasRole(v1::WorkerRole role) const;
  // The one of `wanted`'s family and program, and of its digest if it says one;
  // null if there is none.
  const v1::Compiler* Find(const v1::Compiler& wanted) const;
  // It has these by now, and no others; too many or too large ones are left
  // out.
  void SetCompilers(const v1::WorkerMessage::Hello& hello);
};

// What a lease wants of a worker.
struct WorkerWish {
  v1::WorkerRole role = v1::COMPILE_ROLE;
  v1::JobClass job_class = v1::INTERACTIVE;
  uint64_t lease_id = 0;
  uint64_t not_again = kNoWorker;  // Last resort: the lease failed there.
  bool alone = false;              // No other lease at the same time.
  const v1::Compiler* compiler = nullptr;  // What it needs there.
};

// Thread-compatible.
class WorkerTable {
 public:
  explicit WorkerTable(absl::Duration long_lease) : long_lease_(long_lease) {}

  using Workers = std::map<uint64_t, ConnectedWorker>;

  // The best worker with a free slot for such a lease, or kNoWorker. Those that
  // have failed within the last minute come last; then who is slow compared
  // with the others and who has a small share of its slots free. `admits`:
  // whether a worker takes leases of that class at present; empty: all do.
  using Admits = std::function<bool(const ConnectedWorker&)>;
  uint64_t Choose(const WorkerWish& wish, absl::Duration now,
                  const Admits& admits = nullptr) const;

  // Gives a busy worker no further leases, so that one that wants a worker to
  // itself finds it idle: the worker expected to be idle first among those on
  // which that lease has not failed. At most one worker is kept at a time:
  // false, and nothing changes, if one is kept for some lease already or there
  // is none.
  bool KeepFree(const WorkerWish& wish, absl::Duration now);
  // The lease that a worker is kept free for, 0 if there is none.
  uint64_t kept_for() const { return kept_for_; }

  void Give(uint64_t id, uint64_t lease_id, uint64_t token,
            const WorkerWish& wish, absl::Duration now);
  // Its lease has ended with a result, `took` after it began.
  void Succeeded(uint64_t id, int kind, absl::Duration took);
  // With a failure that may be the worker's.
  void Failed(uint64_t id, absl::Duration now);
  // Nobody waits for that lease any more.
  void LetGo(uint64_t lease_id);

  ConnectedWorker& Add(uint64_t id, const v1::WorkerMessage::Hello& hello,
                       int slots, WorkerLink* link, absl::Duration now);
  void Remove(uint64_t id);
  ConnectedWorker* Find(uint64_t id);
  Workers& all() { return workers_; }
  const Workers& all() const { return workers_; }
  int Count(v1::WorkerRole role) const;
  // As ConnectedWorker::Find(), of any worker.
  const v1::Compiler* FindCompiler(const v1::Compiler& wanted) const;

 private:
  // Whether such a worker can do it, busy or not.
  static bool CanServe(const ConnectedWorker& worker, const WorkerWish& wish);
  double CostOf(uint64_t id, const ConnectedWorker& worker,
                const WorkerWish& wish, absl::Duration now) const;

  absl::Duration long_lease_;
  Workers workers_;
  WorkerSpeeds speeds_;
  std::map<uint64_t, uint64_t> apart_;  // Lease to the worker it has alone.
  uint64_t kept_for_ = 0;               // One of them.
};

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_FARM_WORKER_TABLE_H_
