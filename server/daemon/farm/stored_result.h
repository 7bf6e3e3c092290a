#ifndef EK_SERVER_DAEMON_FARM_STORED_RESULT_H_
#define EK_SERVER_DAEMON_FARM_STORED_RESULT_H_

#include "absl/status/statusor.h"
#include "cache/blob_store.h"
#include "edgekiln/v1/data.pb.h"
#include "edgekiln/v1/stage.pb.h"

namespace edgekiln::server {

// The result of a stage that a worker has uploaded as a blob, as it is too
// large for a message. Errors, of the worker: RESOURCE_EXHAUSTED (larger than
// kMaxStoredResultBytes), DATA_LOSS (no StageResult), those of the store.
absl::StatusOr<v1::StageResult> ReadStoredResult(cache::BlobStore& blobs,
                                                 const v1::Digest& digest);

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_FARM_STORED_RESULT_H_
