#include "cache/blob_store.h"

#include "absl/strings/str_cat.h"
#include "base/error.h"

namespace edgekiln::cache {

absl::Status BlobMissing(const Digest& digest) {
  return MakeError(absl::StatusCode::kNotFound,
                   {.fault = Fault::kUser,
                    .reason = "BLOB_MISSING",
                    .what = "there is no such blob",
                    .where = digest.ToString(),
                    .fix = "upload it again"});
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
