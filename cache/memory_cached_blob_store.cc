#include <memory>
#include <optional>
#include <utility>

#include "base/mutex.h"
#include "base/sized_lru.h"
#include "base/status_macros.h"
#include "cache/blob_store.h"
#include "cache/forwarding_blob_store.h"

namespace edgekiln::cache {
namespace {

class StringReader : public BlobReader {
 public:
  explicit StringReader(std::shared_ptr<const std::string> bytes)
      : bytes_(std::move(bytes)) {}

  absl::StatusOr<std::string> Read(int64_t offset, int64_t max_bytes) override {
    if (offset < 0 || offset >= static_cast<int64_t>(bytes_->size())) {
      return std::string();
    }
    return bytes_->substr(offset, max_bytes);
  }

 private:
  const std::shared_ptr<const std::string> bytes_;
};

// Asks below whether a blob is there: what is kept here may have been evicted
// there, and workers read through other daemons' levels.
class MemoryCachedBlobStore : public ForwardingBlobStore {
 public:
  MemoryCachedBlobStore(std::unique_ptr<BlobStore> inner, MemoryLimits limits)
      : ForwardingBlobStore(std::move(inner)),
        limits_(limits),
        blobs_(limits.total_bytes) {}

  absl::StatusOr<std::string> Get(const Digest& digest) override {
    if (auto bytes = Find(digest)) return *bytes;
    EK_ASSIGN_OR_RETURN(std::string bytes, inner().Get(digest));
    Keep(digest, bytes);
    return bytes;
  }

  absl::StatusOr<std::unique_ptr<BlobReader>> OpenReader(
      const Digest& digest) override {
    if (auto bytes = Find(digest)) {
      return std::make_unique<StringReader>(std::move(bytes));
    }
    if (digest.size_bytes > limits_.max_blob_bytes) {
      return inner().OpenReader(digest);
    }
    EK_ASSIGN_OR_RETURN(std::string bytes, Get(digest));
    return std::make_unique<StringReader>(
        std::make_shared<const std::string>(std::move(bytes)));
  }

  absl::Status Put(const Digest& digest, absl::string_view bytes) override {
    EK_RETURN_IF_ERROR(inner().Put(digest, bytes));
    Keep(digest, bytes);
    return absl::OkStatus();
  }

  absl::Status PutBuffered(const Digest& digest,
                           absl::string_view bytes) override {
    EK_RETURN_IF_ERROR(inner().PutBuffered(digest, bytes));
    Keep(digest, bytes);
    return absl::OkStatus();
  }

  void HalveMemory() override {
    ForwardingBlobStore::HalveMemory();
    MutexLock lock(mutex_);
    blobs_.Halve();
  }

 private:
  using Bytes = std::shared_ptr<const std::string>;

  Bytes Find(const Digest& digest) {
    MutexLock lock(mutex_);
    return blobs_.Get(digest);
  }

  void Keep(const Digest& digest, absl::string_view bytes) {
    const auto size = static_cast<int64_t>(bytes.size());
    if (size > limits_.max_blob_bytes) return;
    auto copy = std::make_shared<const std::string>(bytes);
    MutexLock lock(mutex_);
    blobs_.Put(digest, std::move(copy), size + kKeptBlobBytes);
  }

  const MemoryLimits limits_;
  Mutex mutex_;
  SizedLru<Digest, Bytes> blobs_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

std::unique_ptr<BlobStore> NewMemoryCachedBlobStore(
    std::unique_ptr<BlobStore> inner, MemoryLimits limits) {
  return std::make_unique<MemoryCachedBlobStore>(std::move(inner), limits);
}

}  // namespace edgekiln::cache
