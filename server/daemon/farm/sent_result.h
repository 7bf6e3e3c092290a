#ifndef EK_SERVER_DAEMON_FARM_SENT_RESULT_H_
#define EK_SERVER_DAEMON_FARM_SENT_RESULT_H_

#include "absl/status/statusor.h"
#include "cache/blob_store.h"
#include "edgekiln/v1/stage.pb.h"
#include "edgekiln/v1/workers.pb.h"

namespace edgekiln::server {

// The result of a stage as a worker sends it: in its message, with the outputs
// beside it, which are stored here (buffered: they can be made again); or as a
// blob, as it is too large for a message. Errors, of the worker:
// RESOURCE_EXHAUSTED (larger than kMaxStoredResultBytes), DATA_LOSS (no
// StageResult, or outputs that are not its own), INVALID_ARGUMENT (no digest);
// those of the store.
absl::StatusOr<v1::StageResult> TakeSentResult(cache::BlobStore& blobs,
                                               v1::WorkerMessage::Result sent);

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_FARM_SENT_RESULT_H_
