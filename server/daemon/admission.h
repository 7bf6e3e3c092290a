#ifndef EK_SERVER_DAEMON_ADMISSION_H_
#define EK_SERVER_DAEMON_ADMISSION_H_

// What a request must fulfil to become a job.

#include "absl/status/status.h"
#include "cache/blob_store.h"
#include "edgekiln/v1/jobs.pb.h"

namespace edgekiln::server {

// Without a look at the store. INVALID_ARGUMENT; see validate_request.h, and
// for too long a name or too many targets.
absl::Status CheckRequest(const v1::CreateJobRequest& request, int max_targets);

// FAILED_PRECONDITION with reason BLOB_MISSING unless all that the request
// names is in `blobs`.
absl::Status CheckBlobs(const v1::CreateJobRequest& request,
                        cache::BlobStore& blobs);

// INVALID_ARGUMENT with reason REQUEST_ID_REUSED unless `job` came from this
// very request, which has the same request_id.
absl::Status CheckSameRequest(const v1::Job& job,
                              const v1::CreateJobRequest& request);

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_ADMISSION_H_
