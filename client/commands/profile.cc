#include "client/commands/profile.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/format_bytes.h"
#include "base/status_macros.h"
#include "client/job_output.h"
#include "client/job_request.h"
#include "client/run_job.h"

namespace edgekiln::client {

absl::Status RunProfile(CommandContext& context) {
  const std::string& path = context.line.timeline;
  if (!path.empty()) EK_RETURN_IF_ERROR(CheckOutputFile(path, "--timeline"));
  EK_ASSIGN_OR_RETURN(const v1::CreateJobRequest request,
                      PrepareJob(v1::PROFILE, false, context));
  EK_ASSIGN_OR_RETURN(const v1::Job job, RunJob(request, context));
  if (path.empty() || !JobError(job).ok()) return PrintReports(job, context);
  const auto timeline = std::find_if(
      job.artifacts().begin(), job.artifacts().end(),
      [](const v1::Artifact& a) { return a.path() == "timeline.pb"; });
  if (timeline == job.artifacts().end()) {
    return MakeError(absl::StatusCode::kInternal,
                     {.fault = Fault::kInfra,
                      .reason = "NO_TIMELINE",
                      .what = "the job succeeded and left no timeline",
                      .where = absl::StrCat("job ", job.id()),
                      .fix = "use a daemon of this version of edgekiln"});
  }
  EK_RETURN_IF_ERROR(FetchArtifact(*timeline, path, context));
  absl::Status outcome = PrintReports(job, context);
  if (!context.line.json) {
    context.print(absl::StrCat(
        "\nwrote ", CleanText(path), "  ",
        FormatBytes(timeline->digest().size_bytes()),
        ": edgekiln.v1.Timeline of proto/edgekiln/v1/timeline.proto\n"));
  }
  return outcome;
}

}  // namespace edgekiln::client
