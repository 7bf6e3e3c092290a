#ifndef EK_CACHE_UPLOAD_STORE_H_
#define EK_CACHE_UPLOAD_STORE_H_

// Blobs on their way in. An upload is named by its sender's id and its digest,
// is written in order, survives broken streams and restarts of the process, and
// becomes a blob once all its bytes are there and have the digest.

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/file.h"
#include "cache/blob_store.h"
#include "cache/disk_space.h"

namespace edgekiln::cache {

// The right to write one upload. It ends when another Resume() of the same
// upload takes over: a client that comes back does not wait until its broken
// connection is noticed. Not thread-safe.
class Upload {
 public:
  virtual ~Upload() = default;
  // What was taken. It is in the file soon, and surely once another stream
  // continues the upload or asks for its size.
  virtual int64_t committed_bytes() const = 0;
  // Does not wait for hash and disk, whose errors come with a later call.
  // Errors: ABORTED (taken over, or expired), INVALID_ARGUMENT (more than the
  // digest says).
  virtual absl::Status Append(std::string bytes) = 0;
  // Verifies and stores. INVALID_ARGUMENT with reason DIGEST_MISMATCH, or
  // UPLOAD_INCOMPLETE; the former drops what was received.
  virtual absl::Status Finish() = 0;
};

// Bounds on unfinished uploads, abandoned ones included. Where one is reached,
// an upload that no stream holds gives way to a new one, or one whose stream
// trickles.
struct UploadLimits {
  int max_uploads = 256;
  int64_t max_bytes = int64_t{64} << 30;  // As announced, of all together.
  // An upload that has got no bytes for this long is removed.
  absl::Duration expiry = absl::Hours(6);
};

// Thread-safe.
class UploadStore {
 public:
  virtual ~UploadStore() = default;
  // Starts an upload, or continues it where it stopped. RESOURCE_EXHAUSTED with
  // reason UPLOADS_FULL (Fault::kQuota) or DISK_FULL if a new one finds no
  // room.
  virtual absl::StatusOr<std::unique_ptr<Upload>> Resume(
      const std::string& id, const Digest& digest) = 0;
  // NOT_FOUND for an upload that was never begun or is over.
  virtual absl::StatusOr<int64_t> CommittedBytes(const std::string& id,
                                                 const Digest& digest) = 0;
  // Removes expired uploads. To be called now and then.
  virtual void RemoveExpired() = 0;
};

// Partial uploads are files in `root`, on the file system of `blobs` and
// `space`. The references must outlive the store.
absl::StatusOr<std::unique_ptr<UploadStore>> OpenUploadStore(
    FileSystem& files, const std::string& root, BlobStore& blobs,
    DiskSpace& space, const UploadLimits& limits, Clock& clock);

}  // namespace edgekiln::cache

#endif  // EK_CACHE_UPLOAD_STORE_H_
