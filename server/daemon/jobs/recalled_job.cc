#include "server/daemon/jobs/recalled_job.h"

#include <utility>

#include "absl/status/statusor.h"
#include "base/error.h"
#include "server/compile_job.h"
#include "server/daemon/jobs/job_end.h"
#include "server/daemon/jobs/job_rows.h"
#include "server/daemon/jobs/state_event.h"
#include "server/daemon/stages/recalled_stages.h"
#include "server/executor.h"
#include "server/task.h"

namespace edgekiln::server {
namespace {

// Looking up results for more takes too long, found or not.
constexpr int kMaxTargets = 16;

// Only those are stored.
bool IsUsersError(const absl::Status& status) {
  const std::optional<ErrorDetail> detail = GetErrorDetail(status);
  return detail.has_value() && detail->fault == Fault::kUser;
}

}  // namespace

std::optional<RecalledJob> RecallJob(const v1::Job& job, StageRunner& stages,
                                     Clock& clock) {
  if (job.request().targets_size() > kMaxTargets) return std::nullopt;
  const absl::StatusOr<std::unique_ptr<Executor>> here = Executor::New(0);
  if (!here.ok()) return std::nullopt;
  RecalledStages recalled(stages);
  std::optional<JobResult> result;
  StartTask(**here, RunCompileJob(job.id(), job.request(), recalled, **here),
            [&result](JobResult ended) { result = std::move(ended); });
  (*here)->RunPosted();
  if (!result.has_value() || !recalled.complete()) return std::nullopt;
  if (recalled.records().empty()) return std::nullopt;
  if (!result->status.ok() && !IsUsersError(result->status)) {
    return std::nullopt;
  }
  for (const v1::Report::Stage& record : recalled.records()) {
    v1::DaemonStatus::Stage hit;
    hit.set_hit(1);
    stages.counts().Add(record.name(), hit);
  }
  RecalledJob out;
  out.job = job;
  *out.job.mutable_started() = ToTimestamp(clock.Now());
  out.job.mutable_stages()->Assign(recalled.records().begin(),
                                   recalled.records().end());
  EndJob(*result, clock.Now(), out.job);
  out.reports = std::move(result->reports);
  out.events.reserve(recalled.events().size() + 4);
  out.events.push_back(StateEvent(v1::QUEUED));
  out.events.push_back(StateEvent(v1::RUNNING));
  for (v1::JobEvent& event : recalled.events()) {
    out.events.push_back(std::move(event));
  }
  if (out.job.has_error()) {
    *out.events.emplace_back().mutable_error() = out.job.error();
  }
  out.events.push_back(StateEvent(out.job.state()));
  return out;
}

}  // namespace edgekiln::server
