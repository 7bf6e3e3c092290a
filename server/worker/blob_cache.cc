#include "server/worker/blob_cache.h"

#include <utility>

namespace edgekiln::server {

std::shared_ptr<const std::string> BlobCache::Get(const Digest& digest) {
  MutexLock lock(mutex_);
  return blobs_.Get(digest);
}

void BlobCache::Put(const Digest& digest,
                    std::shared_ptr<const std::string> bytes) {
  MutexLock lock(mutex_);
  blobs_.Put(digest, std::move(bytes), digest.size_bytes);
}

}  // namespace edgekiln::server
