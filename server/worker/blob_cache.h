#ifndef EK_SERVER_WORKER_BLOB_CACHE_H_
#define EK_SERVER_WORKER_BLOB_CACHE_H_

// Recently used blobs in memory. Thread-safe.

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "base/digest.h"

namespace edgekiln::server {

class BlobCache {
 public:
  explicit BlobCache(int64_t max_bytes) : max_bytes_(max_bytes) {}

  // Null if it is not there.
  std::shared_ptr<const std::string> Get(const Digest& digest);
  // Drops the blobs used longest ago until this one fits; one that never fits
  // is not kept.
  void Put(const Digest& digest, std::shared_ptr<const std::string> bytes);

 private:
  using Entry = std::pair<Digest, std::shared_ptr<const std::string>>;

  const int64_t max_bytes_;
  std::mutex mutex_;
  std::list<Entry> entries_;  // Used last in front. Guarded by mutex_.
  std::map<Digest, std::list<Entry>::iterator> index_;  // Guarded by mutex_.
  int64_t bytes_ = 0;                                   // Guarded by mutex_.
};

}  // namespace edgekiln::server

#endif  // EK_SERVER_WORKER_BLOB_CACHE_H_
