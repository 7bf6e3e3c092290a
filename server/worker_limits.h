#ifndef EK_SERVER_WORKER_LIMITS_H_
#define EK_SERVER_WORKER_LIMITS_H_

// Errors of stages that need more than a worker grants. They are the user's:
// the model or the data asks for it, and trying again asks for the same. They
// are also of that worker: one with a higher limit may succeed, so that nobody
// stores them as what a stage says of its inputs.

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "edgekiln/v1/error.pb.h"

namespace edgekiln::server {

// The stage `where` would take more than the `limit_bytes` of memory that its
// process may use (0: unlimited, and still not enough). `need_bytes` is a lower
// bound; empty: unknown.
absl::Status OverMemoryLimit(absl::string_view where, int64_t limit_bytes,
                             std::optional<int64_t> need_bytes);

// The stage `where` recursed beyond the `limit_bytes` of its stack (0: which is
// unlimited but for the memory).
absl::Status OverStackLimit(absl::string_view where, int64_t limit_bytes);

// Memory ran out although the stage kept within its limit: our fault, and worth
// another attempt. `asked_bytes` is the allocation that failed.
absl::Status MachineOutOfMemory(absl::string_view where, int64_t asked_bytes);

// Whether `error` is the first.
bool IsOverMemoryLimit(const v1::ErrorDetail& error);

// Results of stages travel in the stream up to the first, and as blobs up to
// the last, with which they still fit the store of stage results; with a
// result, its outputs up to the second.
inline constexpr int64_t kMaxSentResultBytes = 256 << 10;
inline constexpr int64_t kMaxSentOutputBytes = 1 << 20;
inline constexpr int64_t kMaxStoredResultBytes = (64 << 20) - (4 << 10);

// A result is larger than that: nothing keeps it, whichever worker makes it.
absl::Status ResultTooLarge(absl::string_view where, int64_t bytes);

// Whether `error` is one of the first two.
bool IsOverWorkerLimit(const v1::ErrorDetail& error);
bool IsOverWorkerLimit(const absl::Status& status);

}  // namespace edgekiln::server

#endif  // EK_SERVER_WORKER_LIMITS_H_
