#ifndef EK_SERVER_WORKER_FAILED_ALLOCATION_H_
#define EK_SERVER_WORKER_FAILED_ALLOCATION_H_

// Programs that link this learn what std::bad_alloc does not tell: how much
// could not be allocated, and how much was in use then. Not with sanitizers,
// which bring allocators of their own.

#include <cstdint>
#include <optional>

namespace edgekiln::server {

struct FailedAllocation {
  int64_t asked_bytes = 0;
  // Address space of the process; 0: unknown.
  int64_t in_use_bytes = 0;
};

// To be called while the process may still open files: how much is in use is
// read through a descriptor that stays open, the next free one.
void OpenMemoryAccount();

// The last allocation that failed on this thread since the last call.
std::optional<FailedAllocation> TakeFailedAllocation();

}  // namespace edgekiln::server

#endif  // EK_SERVER_WORKER_FAILED_ALLOCATION_H_
