#include <memory>
#include <optional>
#include <utility>

#include "base/status_macros.h"
#include "cache/blob_store.h"
#include "cache/forwarding_blob_store.h"

namespace edgekiln::cache {
namespace {

class VerifyingBlobStore : public ForwardingBlobStore {
 public:
  using ForwardingBlobStore::ForwardingBlobStore;

  absl::StatusOr<std::string> Get(const Digest& digest) override {
    EK_ASSIGN_OR_RETURN(std::string bytes, inner().Get(digest));
    if (!VerifyDigest(digest, bytes).ok()) return BlobMissing(digest);
    return bytes;
  }

  absl::StatusOr<std::unique_ptr<BlobReader>> OpenReader(
      const Digest& digest) override {
    constexpr int64_t kPieceBytes = 1 << 20;
    EK_ASSIGN_OR_RETURN(std::unique_ptr<BlobReader> reader,
                        inner().OpenReader(digest));
    Sha256 hash;
    while (hash.size_bytes() < digest.size_bytes) {
      EK_ASSIGN_OR_RETURN(std::string piece,
                          reader->Read(hash.size_bytes(), kPieceBytes));
      if (piece.empty()) return BlobMissing(digest);
      hash.Update(piece);
    }
    if (hash.Finish() != digest) return BlobMissing(digest);
    return reader;
  }

  absl::Status Put(const Digest& digest, absl::string_view bytes) override {
    EK_RETURN_IF_ERROR(VerifyDigest(digest, bytes));
    return inner().Put(digest, bytes);
  }

  absl::Status PutBuffered(const Digest& digest,
                           absl::string_view bytes) override {
    EK_RETURN_IF_ERROR(VerifyDigest(digest, bytes));
    return inner().PutBuffered(digest, bytes);
  }
};

}  // namespace

std::unique_ptr<BlobStore> NewVerifyingBlobStore(
    std::unique_ptr<BlobStore> inner) {
  return std::make_unique<VerifyingBlobStore>(std::move(inner));
}

}  // namespace edgekiln::cache
