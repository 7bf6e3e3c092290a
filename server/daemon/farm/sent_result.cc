#include "server/daemon/farm/sent_result.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "proto/convert.h"
#include "server/worker_limits.h"

namespace edgekiln::server {
namespace {

absl::StatusOr<v1::StageResult> ReadStored(cache::BlobStore& blobs,
                                           const v1::Digest& digest) {
  EK_ASSIGN_OR_RETURN(const Digest name, FromProto(digest));
  if (name.size_bytes > kMaxStoredResultBytes) {
    return MakeError(
        absl::StatusCode::kResourceExhausted,
        {.fault = Fault::kInfra,
         .reason = "RESULT_TOO_LARGE",
         .what = "a worker's result is larger than the daemon reads",
         .where = name.ToString(),
         .limit = absl::StrCat(kMaxStoredResultBytes, " bytes"),
         .need = absl::StrCat(name.size_bytes, " bytes"),
         .fix = "use an edgekiln-worker of the daemon's build"});
  }
  EK_ASSIGN_OR_RETURN(const std::string bytes, blobs.Get(name),
                      "reading a worker's result");
  v1::StageResult result;
  if (result.ParseFromString(bytes)) return result;
  return MakeError(absl::StatusCode::kDataLoss,
                   {.fault = Fault::kInfra,
                    .reason = "BAD_RESULT",
                    .what = "a worker's result cannot be read",
                    .where = name.ToString(),
                    .limit = "a StageResult",
                    .need = "a blob that holds one",
                    .fix = "use an edgekiln-worker of the daemon's build"});
}

absl::Status NotItsOutputs(const v1::WorkerMessage::Result& sent) {
  return MakeError(
      absl::StatusCode::kDataLoss,
      {.fault = Fault::kInfra,
       .reason = "BAD_RESULT",
       .what = "a worker sent other outputs than its result names",
       .limit = absl::StrCat(sent.result().outputs_size(), " outputs"),
       .need = absl::StrCat(sent.outputs_size(), " with the digests it names"),
       .fix = "use an edgekiln-worker of the daemon's build"});
}

absl::Status StoreOutputs(cache::BlobStore& blobs,
                          const v1::WorkerMessage::Result& sent) {
  if (sent.outputs_size() != sent.result().outputs_size()) {
    return NotItsOutputs(sent);
  }
  for (int i = 0; i < sent.outputs_size(); ++i) {
    EK_ASSIGN_OR_RETURN(const Digest digest,
                        FromProto(sent.result().outputs(i).digest()));
    const absl::Status stored = blobs.PutBuffered(digest, sent.outputs(i));
    // The store has hashed them; once is enough.
    if (absl::IsInvalidArgument(stored)) return NotItsOutputs(sent);
    EK_RETURN_IF_ERROR(stored, "storing outputs");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<v1::StageResult> TakeSentResult(cache::BlobStore& blobs,
                                               v1::WorkerMessage::Result sent) {
  if (sent.has_stored_result()) return ReadStored(blobs, sent.stored_result());
  EK_RETURN_IF_ERROR(StoreOutputs(blobs, sent));
  return std::move(*sent.mutable_result());
}

}  // namespace edgekiln::server
