#include "server/daemon/jobs/job_end.h"

#include <utility>

#include "absl/status/status.h"
#include "server/daemon/jobs/job_rows.h"
#include "server/proto_convert.h"

namespace edgekiln::server {

void EndJob(JobResult& result, absl::Time now, v1::Job& job) {
  job.set_state(v1::SUCCEEDED);
  if (!result.status.ok()) {
    const bool cancelled = absl::IsCancelled(result.status);
    job.set_state(cancelled ? v1::CANCELLED : v1::FAILED);
    if (cancelled) result.reports.clear();
    *job.mutable_error() = ErrorToProto(result.status);
  }
  *job.mutable_finished() = ToTimestamp(now);
  job.clear_artifacts();
  for (v1::Artifact& artifact : result.artifacts) {
    *job.add_artifacts() = std::move(artifact);
  }
  if (result.description.inputs_size() + result.description.layers_size() > 0) {
    *job.mutable_description() = std::move(result.description);
  }
  job.set_reports(static_cast<int>(result.reports.size()));
}

}  // namespace edgekiln::server
