#include "server/worker/blob_cache.h"

namespace edgekiln::server {

std::shared_ptr<const std::string> BlobCache::Get(const Digest& digest) {
  std::lock_guard lock(mutex_);
  const auto it = index_.find(digest);
  if (it == index_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, it->second);
  return it->second->second;
}

void BlobCache::Put(const Digest& digest,
                    std::shared_ptr<const std::string> bytes) {
  std::lock_guard lock(mutex_);
  if (digest.size_bytes > max_bytes_ || index_.count(digest) > 0) return;
  while (bytes_ + digest.size_bytes > max_bytes_) {
    bytes_ -= entries_.back().first.size_bytes;
    index_.erase(entries_.back().first);
    entries_.pop_back();
  }
  entries_.emplace_front(digest, std::move(bytes));
  index_[digest] = entries_.begin();
  bytes_ += digest.size_bytes;
}

}  // namespace edgekiln::server
