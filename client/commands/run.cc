#include "client/commands/run.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/format_bytes.h"
#include "base/status_macros.h"
#include "client/job_output.h"
#include "client/job_request.h"
#include "client/run_job.h"

namespace edgekiln::client {

absl::Status RunOutputs(CommandContext& context) {
  const CommandLine& line = context.line;
  EK_RETURN_IF_ERROR(CheckOutputFile(line.output));
  EK_RETURN_IF_ERROR(CheckKeepsInputs(line));
  EK_ASSIGN_OR_RETURN(const v1::CreateJobRequest request,
                      PrepareJob(v1::RUN, false, context));
  EK_ASSIGN_OR_RETURN(const v1::Job job, RunJob(request, context));
  EK_RETURN_IF_ERROR(JobError(job));
  const auto outputs = std::find_if(
      job.artifacts().begin(), job.artifacts().end(),
      [](const v1::Artifact& a) { return absl::EndsWith(a.path(), ".npz"); });
  if (outputs == job.artifacts().end()) {
    return MakeError(absl::StatusCode::kInternal,
                     {.fault = Fault::kInfra,
                      .reason = "NO_OUTPUTS",
                      .what = "the job succeeded and left no outputs",
                      .where = absl::StrCat("job ", job.id()),
                      .fix = "this is a bug of edgekiln: report it with the "
                             "model"});
  }
  EK_RETURN_IF_ERROR(FetchArtifact(*outputs, line.output, context));
  absl::Status outcome = PrintReports(job, context);
  if (!line.json) {
    context.print(absl::StrCat("\nwrote ", CleanText(line.output), "  ",
                               FormatBytes(outputs->digest().size_bytes()),
                               "\n"));
  }
  return outcome;
}

}  // namespace edgekiln::client
