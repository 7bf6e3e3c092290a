#ifndef EK_SERVER_DAEMON_FARM_SLOT_HOLDS_H_
#define EK_SERVER_DAEMON_FARM_SLOT_HOLDS_H_

// A slot whose lease has ended is held for a moment against leases of later
// classes: the next stage of that job is about to come. Each slot is held by
// itself: the other free slots of its worker serve all classes.

#include <cstdint>
#include <map>
#include <vector>

#include "absl/time/time.h"
#include "edgekiln/v1/jobs.pb.h"

namespace edgekiln::server {

struct HoldLimits {
  absl::Duration time = absl::Milliseconds(100);
  // Consecutive holds of one slot while leases of later classes wait: a stream
  // of short jobs must not keep them waiting for ever.
  int in_a_row = 16;
};

// Of one worker. A value; thread-compatible.
class SlotHolds {
 public:
  // How many free slots of the worker are held against leases of that class.
  int Against(v1::JobClass job_class, absl::Duration now) const;

  // The lease takes a slot. `free`: free slots before that, at least one more
  // than Against(job_class).
  void Given(uint64_t lease_id, v1::JobClass job_class, int free,
             absl::Duration now);
  // The lease has ended; its slot is held. `others_wait`: leases of later
  // classes wait for one.
  void Ended(uint64_t lease_id, v1::JobClass job_class, bool others_wait,
             const HoldLimits& limits, absl::Duration now);
  // The lease has ended, and its slot is not held.
  void Forget(uint64_t lease_id) { in_a_row_.erase(lease_id); }

 private:
  struct Hold {
    v1::JobClass job_class;
    absl::Duration until;
    int in_a_row;
  };

  void DropPast(absl::Duration now);

  std::vector<Hold> holds_;
  std::map<uint64_t, int> in_a_row_;  // Of leases in slots that were held.
};

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_FARM_SLOT_HOLDS_H_
