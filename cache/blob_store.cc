#include "cache/blob_store.h"

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status_macros.h"

namespace edgekiln::cache {

absl::Status BlobMissing(const Digest& digest) {
  return MakeError(absl::StatusCode::kNotFound,
                   {.fault = Fault::kUser,
                    .reason = "BLOB_MISSING",
                    .what = "there is no such blob",
                    .where = digest.ToString(),
                    .fix = "upload it again"});
}

absl::StatusOr<bool> ContainsDurably(BlobStore& blobs, const Digest& digest) {
  EK_ASSIGN_OR_RETURN(const bool present, blobs.Contains(digest));
  if (!present) return false;
  const absl::Status synced = blobs.Sync(digest);
  if (absl::IsNotFound(synced)) return false;
  EK_RETURN_IF_ERROR(synced);
  return true;
}

absl::Status VerifyDigest(const Digest& digest, absl::string_view bytes) {
  const Digest actual = DigestOf(bytes);
  if (actual == digest) return absl::OkStatus();
  return MakeError(absl::StatusCode::kInvalidArgument,
                   {.fault = Fault::kUser,
                    .reason = "DIGEST_MISMATCH",
                    .what = "the bytes are not what their digest says",
                    .where = digest.ToString(),
                    .need = absl::StrCat("the bytes have ", actual.ToString()),
                    .fix = "send the bytes that were hashed"});
}

}  // namespace edgekiln::cache
