#include "client/commands/validate.h"

#include "base/status_macros.h"
#include "client/job_output.h"
#include "client/job_request.h"
#include "client/run_job.h"

namespace edgekiln::client {

absl::Status RunValidate(CommandContext& context) {
  EK_ASSIGN_OR_RETURN(
      const v1::CreateJobRequest request,
      PrepareJob(v1::VALIDATE, NeedsLabels(context.line), context));
  EK_ASSIGN_OR_RETURN(const v1::Job job, RunJob(request, context));
  return PrintReports(job, context);
}

}  // namespace edgekiln::client
