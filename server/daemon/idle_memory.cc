#include "server/daemon/idle_memory.h"

#include "base/memory.h"

namespace edgekiln::server {
namespace {

// Idle time before freed memory is returned to the kernel, and the interval at
// which it is returned while the daemon is never idle.
constexpr absl::Duration kReturnAfter = absl::Seconds(2);
constexpr absl::Duration kReturnEvery = absl::Minutes(1);
// Idle time before caches are trimmed to half of their limits; longer, so that
// the next command of somebody at a terminal still finds all of it.
constexpr absl::Duration kHalveAfter = absl::Seconds(5);

}  // namespace

IdleMemory::IdleMemory(cache::BlobStore& blobs,
                       cache::StageResultStore& results, JobStore& jobs,
                       Clock& clock)
    : blobs_(blobs),
      results_(results),
      jobs_(jobs),
      clock_(clock),
      returned_(clock.Monotonic()),
      halved_(clock.Monotonic()) {}

void IdleMemory::Return(absl::Duration idle) {
  const absl::Duration now = clock_.Monotonic();
  const absl::Duration last_use = now - idle;
  bool freed = false;
  if (last_use > halved_ && idle >= kHalveAfter) {
    halved_ = now;
    blobs_.HalveMemory();
    results_.HalveMemory();
    jobs_.HalveMemory();
    freed = true;
  }
  if (last_use > returned_ &&
      (idle >= kReturnAfter || now - returned_ >= kReturnEvery)) {
    returned_ = now;
    if (idle >= kReturnAfter) jobs_.DropPages();
    freed = true;
  }
  if (freed) ReturnFreedMemory();
}

}  // namespace edgekiln::server
