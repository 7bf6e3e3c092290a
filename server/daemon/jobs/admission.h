#ifndef EK_SERVER_DAEMON_JOBS_ADMISSION_H_
#define EK_SERVER_DAEMON_JOBS_ADMISSION_H_

// What a request must fulfil to become a job.

#include <functional>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "cache/blob_store.h"
#include "edgekiln/v1/jobs.pb.h"

namespace edgekiln::server {

// Without a look at the store. INVALID_ARGUMENT; see request_bounds.h and
// validate_request.h, and for too many targets.
absl::Status CheckRequest(const v1::CreateJobRequest& request, int max_targets);

// Tells, once, FAILED_PRECONDITION with reason BLOB_MISSING unless `blobs` has
// it, durably; `what` is its part in the request. As BlobStore::AskContains():
// calls from within or later, from another thread. Waits for the disk only for
// what a stage has just made, and once per process for what is there already.
using BlobsTold = std::function<void(absl::Status)>;
void AskBlob(absl::string_view what, const v1::Digest& proto,
             cache::BlobStore& blobs, const BlobsTold& told);

// The same for all that the request names. INVALID_ARGUMENT with reason
// NO_MODEL, TARGET_BY_NAME or NO_DIGEST where a digest was left out.
void AskBlobs(const v1::CreateJobRequest& request, cache::BlobStore& blobs,
              const BlobsTold& told);
// The same for the files of targets alone.
void AskTargets(const v1::SweepRequest& sweep, cache::BlobStore& blobs,
                const BlobsTold& told);

// INVALID_ARGUMENT with reason REQUEST_ID_REUSED unless `job` came from this
// very request, which has the same request_id.
absl::Status CheckSameRequest(const v1::Job& job,
                              const v1::CreateJobRequest& request);

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_JOBS_ADMISSION_H_
