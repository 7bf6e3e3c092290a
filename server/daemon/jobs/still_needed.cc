#include "server/daemon/jobs/still_needed.h"

#include <algorithm>
#include <vector>

#include "base/status_macros.h"
#include "cache/disk_blob_store.h"
#include "google/protobuf/util/time_util.h"

namespace edgekiln::server {
namespace {

// Of a page; between pages others get at the store.
constexpr int kJobsAtOnce = 100;

}  // namespace

absl::StatusOr<cache::StillNeeded> StillNeededBy(JobStore& jobs) {
  using google::protobuf::util::TimeUtil;
  cache::StillNeeded needed;
  // First: a job that ends meanwhile is either still in here or below.
  EK_ASSIGN_OR_RETURN(const std::vector<v1::Job> unfinished, jobs.Unfinished());
  for (const v1::Job& job : unfinished) {
    needed.since = std::min(
        needed.since,
        absl::FromUnixMicros(TimeUtil::TimestampToMicroseconds(job.created())));
  }
  int64_t before = 0;
  do {
    EK_ASSIGN_OR_RETURN(const JobPage page, jobs.List(kJobsAtOnce, before));
    for (const v1::Job& job : page.jobs) {
      for (const v1::Artifact& artifact : job.artifacts()) {
        needed.names.insert(cache::BlobFileName(
            {artifact.digest().hash(), artifact.digest().size_bytes()}));
      }
    }
    before = page.next;
  } while (before != 0);
  return needed;
}

}  // namespace edgekiln::server
