#ifndef EK_SERVER_WORKER_BLOB_CLIENT_H_
#define EK_SERVER_WORKER_BLOB_CLIENT_H_

// The daemon's blobs as a worker sees them.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/digest.h"
#include "base/mutex.h"
#include "grpcpp/channel.h"

namespace edgekiln::server {

using SharedBytes = std::shared_ptr<const std::string>;

// Thread-safe.
class BlobClient {
 public:
  virtual ~BlobClient() = default;
  // Bytes of each blob, in order; verified against the digests. Errors:
  // NOT_FOUND, DATA_LOSS, and those of the connection.
  virtual absl::StatusOr<std::vector<SharedBytes>> Get(
      const std::vector<Digest>& digests) = 0;
  // Uploads what the daemon does not have yet. `digests` are those of `blobs`.
  virtual absl::Status Put(const std::vector<Digest>& digests,
                           const std::vector<SharedBytes>& blobs) = 0;
  // Caches them for Get(); the result carries them to the daemon.
  virtual void Keep(const std::vector<Digest>& digests,
                    const std::vector<SharedBytes>& blobs) = 0;
};

// By what the daemon knows this worker at present. Thread-safe.
class BlobSession {
 public:
  void Set(const std::string& token) {
    MutexLock lock(mutex_);
    token_ = token;
  }
  std::string Get() {
    MutexLock lock(mutex_);
    return token_;
  }

 private:
  Mutex mutex_;
  std::string token_ ABSL_GUARDED_BY(mutex_);
};

// Over ContentAddressableStorage and ByteStream. Every call carries the token
// of `session`, which must outlive the client. Keeps recently used blobs in
// memory, at most `cache_bytes` of them: the stages of a job hand each other
// their results.
std::unique_ptr<BlobClient> NewBlobClient(
    const std::shared_ptr<grpc::Channel>& channel, BlobSession& session,
    int64_t cache_bytes);

}  // namespace edgekiln::server

#endif  // EK_SERVER_WORKER_BLOB_CLIENT_H_
