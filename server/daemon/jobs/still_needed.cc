#include "server/daemon/jobs/still_needed.h"

#include <algorithm>
#include <vector>

#include "base/status_macros.h"
#include "google/protobuf/util/time_util.h"

namespace edgekiln::server {

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
  EK_RETURN_IF_ERROR(jobs.ForEachBlob(
      [&](const std::string& name) { needed.names.insert(name); }));
  return needed;
}

}  // namespace edgekiln::server
