#ifndef EK_BASE_PARALLEL_H_
#define EK_BASE_PARALLEL_H_

// Loops over independent items on several threads.
//
// The caller keeps results independent of the number of threads: item i writes
// only what belongs to item i, and reductions happen afterwards, in order.

#include <cstdint>
#include <functional>

#include "absl/status/status.h"

namespace edgekiln {

// Calls fn(0) .. fn(n - 1), each exactly once, on at most `threads` threads
// including the calling one (values below 1 mean 1), and returns when all are
// done. Where the system has no thread left, on fewer. `fn` must not throw.
void ParallelFor(int64_t n, int threads,
                 const std::function<void(int64_t)>& fn);

// The same for functions that can fail. Returns the error of the smallest
// failing index, whatever the number of threads; indices above it may be left
// out.
absl::Status ParallelForStatus(int64_t n, int threads,
                               const std::function<absl::Status(int64_t)>& fn);

}  // namespace edgekiln

#endif  // EK_BASE_PARALLEL_H_
