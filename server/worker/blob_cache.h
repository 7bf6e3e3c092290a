#ifndef EK_SERVER_WORKER_BLOB_CACHE_H_
#define EK_SERVER_WORKER_BLOB_CACHE_H_

// Recently used blobs in memory. Thread-safe.

#include <cstdint>
#include <memory>
#include <string>

#include "base/digest.h"
#include "base/mutex.h"
#include "base/sized_lru.h"

namespace edgekiln::server {

class BlobCache {
 public:
  explicit BlobCache(int64_t max_bytes) : blobs_(max_bytes) {}

  // Null if it is not there.
  std::shared_ptr<const std::string> Get(const Digest& digest);
  // Drops the blobs used longest ago until this one fits; one that never fits
  // is not kept.
  void Put(const Digest& digest, std::shared_ptr<const std::string> bytes);

 private:
  Mutex mutex_;
  SizedLru<Digest, std::shared_ptr<const std::string>> blobs_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace edgekiln::server

#endif  // EK_SERVER_WORKER_BLOB_CACHE_H_
