#include "server/daemon/farm/slot_holds.h"

#include <algorithm>

#include "server/daemon/fairness/job_class.h"

namespace edgekiln::server {

int SlotHolds::Against(v1::JobClass job_class, absl::Duration now) const {
  return static_cast<int>(
      std::count_if(holds_.begin(), holds_.end(), [&](const Hold& hold) {
        return now < hold.until && GoesBefore(hold.job_class, job_class);
      }));
}

void SlotHolds::DropPast(absl::Duration now) {
  holds_.erase(
      std::remove_if(holds_.begin(), holds_.end(),
                     [&](const Hold& hold) { return now >= hold.until; }),
      holds_.end());
}

// It is the stage that a slot of its class was held for. Otherwise it takes one
// that is not held, or else that of the latest class.
void SlotHolds::Given(uint64_t lease_id, v1::JobClass job_class, int free,
                      absl::Duration now) {
  DropPast(now);
  auto taken = std::find_if(
      holds_.begin(), holds_.end(),
      [&](const Hold& hold) { return hold.job_class == job_class; });
  if (taken != holds_.end()) {
    in_a_row_[lease_id] = taken->in_a_row;
  } else if (static_cast<int>(holds_.size()) >= free) {
    taken = std::max_element(holds_.begin(), holds_.end(),
                             [](const Hold& a, const Hold& b) {
                               return GoesBefore(a.job_class, b.job_class);
                             });
  }
  if (taken != holds_.end()) holds_.erase(taken);
}

void SlotHolds::Ended(uint64_t lease_id, v1::JobClass job_class,
                      bool others_wait, const HoldLimits& limits,
                      absl::Duration now) {
  DropPast(now);
  int in_a_row = 0;
  if (const auto before = in_a_row_.find(lease_id); before != in_a_row_.end()) {
    in_a_row = before->second;
    in_a_row_.erase(before);
  }
  in_a_row = others_wait ? in_a_row + 1 : 0;
  if (in_a_row > limits.in_a_row) return;
  holds_.push_back({job_class, now + limits.time, in_a_row});
}

}  // namespace edgekiln::server
