#include "server/daemon/jobs/job_end.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/error.h"
#include "google/protobuf/util/time_util.h"
#include "proto/convert.h"
#include "server/daemon/jobs/job_rows.h"

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
  if (result.sweep.has_value()) *job.mutable_sweep() = *result.sweep;
  job.set_reports(static_cast<int>(result.reports.size()));
}

std::string DescribeEnd(const v1::Job& job) {
  constexpr size_t kMaxName = 128;
  const double seconds =
      google::protobuf::util::TimeUtil::DurationToMilliseconds(job.finished() -
                                                               job.created()) /
      1000.0;
  std::string out = absl::StrFormat("job %s %s in %.1f s", job.id(),
                                    v1::JobState_Name(job.state()), seconds);
  const v1::CreateJobRequest& request = job.request();
  if (!request.model_name().empty()) {
    absl::StrAppend(&out, ": ", SanitizeText(request.model_name(), kMaxName));
  }
  if (!request.slot().client().empty()) {
    absl::StrAppend(&out, ", for ",
                    SanitizeText(request.slot().client(), kMaxName));
  }
  if (job.has_error()) {
    absl::StrAppend(&out, ", ", job.error().reason(), ": ",
                    SanitizeText(job.error().message(), 4 * kMaxName));
  }
  return out;
}

}  // namespace edgekiln::server
