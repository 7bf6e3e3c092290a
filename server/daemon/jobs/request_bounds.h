#ifndef EK_SERVER_DAEMON_JOBS_REQUEST_BOUNDS_H_
#define EK_SERVER_DAEMON_JOBS_REQUEST_BOUNDS_H_

// Bounds on what a request may hold, field by field: what is accepted is kept,
// and shown to others.

#include <cstdint>

#include "absl/status/status.h"
#include "google/protobuf/message.h"

namespace edgekiln::server {

inline constexpr int64_t kMaxRequestBytes = int64_t{1} << 20;

// INVALID_ARGUMENT with reason REQUEST_TOO_LARGE that names the field: a string
// longer than 1 KiB (ids 128 bytes, hashes 64), a list of more than 4096
// entries (goals 16), or more than kMaxRequestBytes together.
absl::Status CheckBounds(const google::protobuf::Message& request);
// The last alone, of a request that was not parsed yet.
absl::Status CheckRequestBytes(int64_t bytes);

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_JOBS_REQUEST_BOUNDS_H_
