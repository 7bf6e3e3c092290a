#include "client/commands/profile.h"

#include <string>

#include "base/status_macros.h"
#include "client/job_output.h"
#include "client/job_request.h"
#include "client/run_job.h"

namespace edgekiln::client {

absl::Status RunProfile(CommandContext& context) {
  const std::string& path = context.line.timeline;
  if (!path.empty()) EK_RETURN_IF_ERROR(CheckOutputFile(path));
  EK_ASSIGN_OR_RETURN(const v1::CreateJobRequest request,
                      PrepareJob(v1::PROFILE, false, context));
  EK_ASSIGN_OR_RETURN(const v1::Job job, RunJob(request, context));
  for (const v1::Artifact& artifact : job.artifacts()) {
    if (!path.empty() && artifact.path() == "timeline.pb") {
      EK_RETURN_IF_ERROR(FetchArtifact(artifact, path, context));
    }
  }
  return PrintReports(job, context);
}

}  // namespace edgekiln::client
