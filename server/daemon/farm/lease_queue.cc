#include "server/daemon/farm/lease_queue.h"

#include <algorithm>

namespace edgekiln::server {
namespace {

constexpr absl::Duration kReserveFor = absl::Minutes(1);
constexpr int kSlotsPerReserved = 8;

// Compile stages go first: they are short, and somebody waits for the first of
// them.
int KindOf(v1::WorkerRole role) { return role == v1::COMPILE_ROLE ? 0 : 1; }

v1::WorkerRole RoleOfKind(int kind) {
  return kind == 0 ? v1::COMPILE_ROLE : v1::SIMULATE_ROLE;
}

}  // namespace

void LeaseQueue::Push(uint64_t lease_id, const LeaseOwner& owner,
                      v1::WorkerRole role, absl::Duration now) {
  // A lease that is put back has waited for a while.
  if (owner.job_class == v1::INTERACTIVE) {
    interactive_at_ = std::max(interactive_at_, now);
  }
  queue_.Push(lease_id, {.job_class = owner.job_class,
                         .kind = KindOf(role),
                         .client = owner.client,
                         .job = owner.job,
                         .order = lease_id,
                         .since = now});
}

void LeaseQueue::Promote(uint64_t lease_id, v1::JobClass job_class,
                         absl::Duration now) {
  if (job_class == v1::INTERACTIVE) interactive_at_ = now;
  queue_.Promote(lease_id, job_class);
}

std::optional<FairQueue::Choice> LeaseQueue::Next(
    absl::Duration now, const Admits& admits,
    const FairQueue::Fits& fits) const {
  return queue_.Next(
      now,
      [&](v1::JobClass job_class, int kind) {
        return admits(job_class, RoleOfKind(kind));
      },
      fits);
}

bool LeaseQueue::Reserves(absl::Duration now) const {
  return now - interactive_at_ <= kReserveFor;
}

int LeaseQueue::Reserve(int slots, absl::Duration now) const {
  if (slots < 2 || !Reserves(now)) return 0;
  return std::max(1, slots / kSlotsPerReserved);
}

}  // namespace edgekiln::server
