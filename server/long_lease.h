#ifndef EK_SERVER_LONG_LEASE_H_
#define EK_SERVER_LONG_LEASE_H_

// A lease that takes long lends its slot, so that nobody waits for the end of
// somebody else's simulation: the daemon gives its worker one lease more.
// Shared by daemon and workers (docs/design/0033-long-leases.md).

#include <algorithm>
#include <cstdint>

#include "absl/time/time.h"

namespace edgekiln::server {

// From then on.
inline constexpr absl::Duration kLongLease = absl::Milliseconds(250);

// Of a stage's memory: all but the largest stages keep within it.
inline constexpr int64_t kLeastMemoryShare = int64_t{1} << 30;

// How many leases a worker executes beyond its slots while as many of those it
// has are long. BATCH leases get none of these. `memory_limit`: of one process;
// `memory_budget`: of all, in bytes; 0: none.
constexpr int SpareSlots(int slots, int64_t memory_limit = 0,
                         int64_t memory_budget = 0) {
  const int half = slots / 2 + slots % 2;
  if (memory_limit <= 0 || memory_budget <= 0) return half;
  const int64_t processes =
      memory_budget / std::min(memory_limit, kLeastMemoryShare);
  return static_cast<int>(std::clamp<int64_t>(processes - slots, 0, half));
}

}  // namespace edgekiln::server

#endif  // EK_SERVER_LONG_LEASE_H_
