#ifndef EK_SERVER_DAEMON_RETRY_INFO_H_
#define EK_SERVER_DAEMON_RETRY_INFO_H_

// When a client that was refused should come again. Thread-safe.

#include <optional>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace edgekiln::server {

inline constexpr absl::Duration kMinRetryDelay = absl::Seconds(1);
inline constexpr absl::Duration kMaxRetryDelay = absl::Minutes(1);

// `status`, with the advice to come again after `delay`, which is brought into
// the bounds above. Survives Annotate(). OK stays as it is.
absl::Status WithRetryDelay(const absl::Status& status, absl::Duration delay);

// What WithRetryDelay() was given; else what the reason calls for. Only of
// RESOURCE_EXHAUSTED and UNAVAILABLE, and only where it will pass by itself:
// DISK_FULL, SHUTTING_DOWN, CANCEL_NOT_DURABLE, NO_THREAD, *_FULL, TOO_MANY_*.
std::optional<absl::Duration> RetryDelayOf(const absl::Status& status);

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_RETRY_INFO_H_
