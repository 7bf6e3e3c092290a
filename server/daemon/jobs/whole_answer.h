#ifndef EK_SERVER_DAEMON_JOBS_WHOLE_ANSWER_H_
#define EK_SERVER_DAEMON_JOBS_WHOLE_ANSWER_H_

// Keeps answers below what every gRPC client takes (4 MiB): a larger message
// becomes a blob, and is answered without its long lists, with the blob's
// digest in `whole`.

#include <cstdint>

#include "absl/status/status.h"
#include "cache/blob_store.h"
#include "edgekiln/v1/jobs.pb.h"

namespace edgekiln::server {

inline constexpr int64_t kMaxAnswerBytes = int64_t{3} << 20;
// Of a job without its request, which is 1 MiB at most.
inline constexpr int64_t kMaxJobBytes = int64_t{2} << 20;

// Each stores the message in `blobs` and shortens it if it exceeds
// kMaxAnswerBytes. Errors: those of BlobStore::Put. The message is short all
// the same, and the last of its warnings says what it lacks and why: whoever
// cannot wait for room goes on with that.
absl::Status FitAnswer(v1::Report& report, cache::BlobStore& blobs);
absl::Status FitAnswer(v1::ModelDescription& description,
                       cache::BlobStore& blobs);

// The same for a job that is over, whatever its size: stores it, and leaves its
// long lists out. The warning is the description's; the artifacts then stay as
// far as there is room for them.
absl::Status FitFinished(v1::Job& job, cache::BlobStore& blobs);

// Of a job that is not over, which changes all the time: leaves out the stages
// that ended first. WatchJob tells all of them.
void FitUnfinished(v1::Job& job);

// An event that a client's limit lets through whatever went wrong.
void FitEvent(v1::JobEvent& event);

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_JOBS_WHOLE_ANSWER_H_
