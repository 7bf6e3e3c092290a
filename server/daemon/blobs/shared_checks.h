#ifndef EK_SERVER_DAEMON_BLOBS_SHARED_CHECKS_H_
#define EK_SERVER_DAEMON_BLOBS_SHARED_CHECKS_H_

#include <atomic>
#include <memory>

#include "absl/status/statusor.h"
#include "cache/blob_store.h"

namespace edgekiln::server {

// Wraps `inner`. Whether a blob is there may need its bytes to be read, which
// takes seconds for large ones: AskContains() has that done by a few threads of
// the store's own, once for all who ask meanwhile, and nobody has to wait with
// a thread. It must be the outermost of all wrappers, and everybody must have
// been told before it goes. Once `stopping` is set, which must outlive it, what
// waits is answered with SHUTTING_DOWN. `threads` read blobs of 4 MiB and more;
// one of its own reads smaller ones, which do not wait for those. Errors:
// RESOURCE_EXHAUSTED (no thread).
absl::StatusOr<std::unique_ptr<cache::BlobStore>> NewCheckSharingBlobStore(
    std::unique_ptr<cache::BlobStore> inner, int threads,
    const std::atomic<bool>& stopping);

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_BLOBS_SHARED_CHECKS_H_
