#ifndef EK_SERVER_DAEMON_FARM_SLOT_HOLDS_H_
#define EK_SERVER_DAEMON_FARM_SLOT_HOLDS_H_

// A slot whose lease has ended is held for a moment against leases of later
// classes: the next stage of that job is about to come. Each slot by itself: a
// worker's other free slots are for everybody.

#include <cstdint>
#include <map>
#include <vector>

#include "absl/time/time.h"
#include "edgekiln/v1/jobs.pb.h"

namespace edgekiln::server {

struct HoldLimits {
  absl::Duration time = absl::Milliseconds(100);
  // In a row for one slot while leases of later classes wait: so that a stream
  // of short jobs does not keep them waiting for ever.
  int in_a_row = 16;
};

// Of one worker. A value; thread-compatible.
class SlotHolds {
 public:
  // Of the worker's free slots, how many leases of that class leave alone.
  int Against(v1::JobClass job_class, absl::Duration now) const;

  // `free`: slots before it, at least one more than Against(job_class).
  void Given(uint64_t lease_id, v1::JobClass job_class, int free,
             absl::Duration now);
  // `others_wait`: leases of later classes.
  void Ended(uint64_t lease_id, v1::JobClass job_class, bool others_wait,
             const HoldLimits& limits, absl::Duration now);
  // Its slot is free without being held.
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
