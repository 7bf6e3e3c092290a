#ifndef EK_CACHE_FORWARDING_BLOB_STORE_H_
#define EK_CACHE_FORWARDING_BLOB_STORE_H_

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/digest.h"
#include "cache/blob_store.h"

namespace edgekiln::cache {

// What a store that wraps another one does unless it overrides it: the same.
// AskContains() stays BlobStore's, which asks the Contains() of the wrapper.
class ForwardingBlobStore : public BlobStore {
 public:
  explicit ForwardingBlobStore(std::unique_ptr<BlobStore> inner)
      : inner_(std::move(inner)) {}

  absl::StatusOr<bool> Contains(const Digest& digest) override {
    return inner_->Contains(digest);
  }
  absl::StatusOr<std::optional<bool>> ContainsIfKnown(
      const Digest& digest) override {
    return inner_->ContainsIfKnown(digest);
  }
  absl::StatusOr<std::string> Get(const Digest& digest) override {
    return inner_->Get(digest);
  }
  absl::StatusOr<std::unique_ptr<BlobReader>> OpenReader(
      const Digest& digest) override {
    return inner_->OpenReader(digest);
  }
  absl::Status Put(const Digest& digest, absl::string_view bytes) override {
    return inner_->Put(digest, bytes);
  }
  absl::Status PutBuffered(const Digest& digest,
                           absl::string_view bytes) override {
    return inner_->PutBuffered(digest, bytes);
  }
  absl::Status Sync(const Digest& digest) override {
    return inner_->Sync(digest);
  }
  absl::Status Adopt(const Digest& digest, const std::string& path) override {
    return inner_->Adopt(digest, path);
  }
  void HalveMemory() override { inner_->HalveMemory(); }

 protected:
  BlobStore& inner() const { return *inner_; }

 private:
  const std::unique_ptr<BlobStore> inner_;
};

}  // namespace edgekiln::cache

#endif  // EK_CACHE_FORWARDING_BLOB_STORE_H_
