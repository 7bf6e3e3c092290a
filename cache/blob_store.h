#ifndef EK_CACHE_BLOB_STORE_H_
#define EK_CACHE_BLOB_STORE_H_

// Bytes named by their own digest. Every store, local or remote, plain or
// decorated, is one of these; layering is done by wrapping, never by flags.
//
// Thread-safe. Implementations do no I/O while holding a lock.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/digest.h"

namespace edgekiln::cache {

// One blob opened for reading in pieces. Its bytes were verified when it was
// opened. Not thread-safe.
class BlobReader {
 public:
  virtual ~BlobReader() = default;
  // At most `max_bytes` from `offset` on; fewer only at the end of the blob.
  // NOT_FOUND if the blob was removed meanwhile.
  virtual absl::StatusOr<std::string> Read(int64_t offset,
                                           int64_t max_bytes) = 0;
};

class BlobStore {
 public:
  virtual ~BlobStore() = default;

  // Whether Get() is expected to succeed. Reads bytes only on the first call.
  virtual absl::StatusOr<bool> Contains(const Digest& digest) = 0;
  // The same for those who must not block: nothing if bytes would have to be
  // read for the answer.
  virtual absl::StatusOr<std::optional<bool>> ContainsIfKnown(
      const Digest& digest) {
    return Contains(digest);
  }
  // Calls `told` exactly once with Contains(): from within, or later from
  // another thread, where it must not block. Stores that read bytes for it do
  // so from within; server/daemon/blobs/shared_checks.h wraps them.
  using Told = std::function<void(const absl::StatusOr<bool>&)>;
  virtual void AskContains(const Digest& digest, const Told& told) {
    told(Contains(digest));
  }
  // Returns the bytes, or NOT_FOUND with reason BLOB_MISSING. Never returns
  // bytes that fail the digest: what is torn or corrupt is absent.
  virtual absl::StatusOr<std::string> Get(const Digest& digest) = 0;
  // As Get(), for blobs too large to be held at once.
  virtual absl::StatusOr<std::unique_ptr<BlobReader>> OpenReader(
      const Digest& digest) = 0;
  // Idempotent: storing the same bytes twice is not an error. Durable when it
  // returns OK. INVALID_ARGUMENT with reason DIGEST_MISMATCH for other bytes.
  virtual absl::Status Put(const Digest& digest, absl::string_view bytes) = 0;
  // The same without waiting for the disk: a power failure may lose it until
  // Sync(). For what can be made again.
  virtual absl::Status PutBuffered(const Digest& digest,
                                   absl::string_view bytes) {
    return Put(digest, bytes);
  }
  // Makes a blob durable however it came. BLOB_MISSING if it is not there. One
  // that the disk fails to take is removed: the system reports that only once.
  virtual absl::Status Sync(const Digest& /*digest*/) {
    return absl::OkStatus();
  }
  // Takes over the file at `path`, which the caller has verified to hold the
  // blob and has synced. The file is gone afterwards, also on failure.
  virtual absl::Status Adopt(const Digest& digest, const std::string& path) = 0;
  // Evicts least recently used blobs from memory, if any are kept there, until
  // at most half of the limit is used: for an idle process.
  virtual void HalveMemory() {}
};

// NOT_FOUND with reason BLOB_MISSING, naming the digest.
absl::Status BlobMissing(const Digest& digest);
// Whether it is there, and durable: for those who promise it to somebody.
absl::StatusOr<bool> ContainsDurably(BlobStore& blobs, const Digest& digest);
// OK if `bytes` have that digest, INVALID_ARGUMENT DIGEST_MISMATCH otherwise.
absl::Status VerifyDigest(const Digest& digest, absl::string_view bytes);

// Wraps `inner`; bytes that fail their digest become NOT_FOUND on the way out
// and are refused on the way in. For stores that do not verify by themselves.
std::unique_ptr<BlobStore> NewVerifyingBlobStore(
    std::unique_ptr<BlobStore> inner);

// What it takes to keep a blob in memory, beside its bytes.
inline constexpr int64_t kKeptBlobBytes = 512;

struct MemoryLimits {
  int64_t total_bytes = 64 << 20;    // Of all blobs kept, with the above.
  int64_t max_blob_bytes = 1 << 20;  // Larger ones are never kept.
};

// Wraps `inner`; keeps small blobs that were read or written lately in memory
// and answers from there.
std::unique_ptr<BlobStore> NewMemoryCachedBlobStore(
    std::unique_ptr<BlobStore> inner, MemoryLimits limits);

}  // namespace edgekiln::cache

#endif  // EK_CACHE_BLOB_STORE_H_
