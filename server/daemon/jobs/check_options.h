#ifndef EK_SERVER_DAEMON_JOBS_CHECK_OPTIONS_H_
#define EK_SERVER_DAEMON_JOBS_CHECK_OPTIONS_H_

// The options of a job that the daemon itself acts on.

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "edgekiln/v1/jobs.pb.h"
#include "google/protobuf/duration.pb.h"

namespace edgekiln::server {

// INVALID_ARGUMENT with reason BAD_DEADLINE for a deadline that is not from
// 1 ms to ten years, or no valid Duration; BAD_CLASS for a job class that does
// not exist.
absl::Status CheckJobOptions(const v1::JobOptions& options);

// Of any value: what is out of range is brought into it.
absl::Duration ToDuration(const google::protobuf::Duration& duration);

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_JOBS_CHECK_OPTIONS_H_
