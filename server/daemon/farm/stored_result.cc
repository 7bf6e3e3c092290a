#include "server/daemon/farm/stored_result.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "proto/convert.h"
#include "server/worker_limits.h"

namespace edgekiln::server {

absl::StatusOr<v1::StageResult> ReadStoredResult(cache::BlobStore& blobs,
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

}  // namespace edgekiln::server
