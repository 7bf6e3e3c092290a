#include "server/daemon/jobs/job_head.h"

#include <string>
#include <utility>

#include "base/error.h"

namespace edgekiln::server {
namespace {

constexpr size_t kMaxTargetNamesBytes = 2048;
constexpr int kMaxErrorBytes = 2048;

}  // namespace

v1::CreateJobRequest RequestHead(const v1::CreateJobRequest& request) {
  v1::CreateJobRequest head;
  head.set_request_id(request.request_id());
  head.set_model_name(request.model_name());
  *head.mutable_goals() = request.goals();
  if (request.has_options()) *head.mutable_options() = request.options();
  if (request.has_slot()) *head.mutable_slot() = request.slot();
  size_t bytes = 0;
  for (const v1::TargetRef& target : request.targets()) {
    v1::TargetRef& out = *head.add_targets();
    bytes += target.name().size();
    if (bytes <= kMaxTargetNamesBytes) out.set_name(target.name());
  }
  return head;
}

v1::Job JobHead(const v1::Job& job) {
  v1::Job head;
  head.set_id(job.id());
  head.set_state(job.state());
  if (job.has_request()) *head.mutable_request() = RequestHead(job.request());
  if (job.has_created()) *head.mutable_created() = job.created();
  if (job.has_started()) *head.mutable_started() = job.started();
  if (job.has_finished()) *head.mutable_finished() = job.finished();
  if (job.has_error()) {
    *head.mutable_error() = job.error();
    // The fields that it is made of are bounded.
    if (job.error().message().size() > kMaxErrorBytes) {
      head.mutable_error()->set_message(
          SanitizeText(job.error().message(), kMaxErrorBytes));
    }
  }
  head.set_reports(job.reports());
  if (job.has_sweep()) *head.mutable_sweep() = job.sweep();
  head.set_superseded_by(job.superseded_by());
  return head;
}

void ShowInList(v1::Job& head) {
  if (!head.has_request()) return;
  v1::CreateJobRequest& request = *head.mutable_request();
  const v1::JobClass job_class = request.options().job_class();
  request.clear_request_id();
  request.clear_slot();
  request.clear_options();
  if (job_class != v1::JOB_CLASS_UNSPECIFIED) {
    request.mutable_options()->set_job_class(job_class);
  }
}

}  // namespace edgekiln::server
