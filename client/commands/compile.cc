#include "client/commands/compile.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/format_bytes.h"
#include "base/status_macros.h"
#include "client/job_output.h"
#include "client/job_request.h"
#include "client/run_job.h"

namespace edgekiln::client {

absl::Status RunCompile(CommandContext& context) {
  const CommandLine& line = context.line;
  if (!line.output.empty()) {
    EK_RETURN_IF_ERROR(CheckOutputFolder(line.output));
  }
  EK_ASSIGN_OR_RETURN(const v1::CreateJobRequest request,
                      PrepareJob(v1::COMPILE, false, context));
  EK_ASSIGN_OR_RETURN(const v1::Job job, RunJob(request, context));
  std::vector<std::string> paths;
  // A failed target leaves no files; with several, the others are worth having.
  if (!line.output.empty() && job.artifacts_size() > 0) {
    EK_ASSIGN_OR_RETURN(paths, FetchArtifacts(job, line.output, context));
  }
  absl::Status outcome = PrintReports(job, context);
  if (line.json || paths.empty()) return outcome;
  std::string list = "\n";
  for (size_t i = 0; i < paths.size(); ++i) {
    const int64_t bytes =
        job.artifacts(static_cast<int>(i)).digest().size_bytes();
    absl::StrAppend(&list, "wrote ", CleanText(paths[i]), "  ",
                    FormatBytes(bytes), "\n");
  }
  context.print(list);
  return outcome;
}

}  // namespace edgekiln::client
