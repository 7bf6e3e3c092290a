#ifndef EK_SERVER_DAEMON_JOBS_STILL_NEEDED_H_
#define EK_SERVER_DAEMON_JOBS_STILL_NEEDED_H_

#include "absl/status/statusor.h"
#include "cache/evictor.h"
#include "server/daemon/jobs/job_store.h"

namespace edgekiln::server {

// What the stored jobs want kept in the cache: everything used since the oldest
// of those that are not over was created, the artifacts of all, and the blobs
// that hold answers of theirs complete.
absl::StatusOr<cache::StillNeeded> StillNeededBy(JobStore& jobs);

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_JOBS_STILL_NEEDED_H_
