#ifndef EK_CLIENT_CHECK_RUN_PROJECT_H_
#define EK_CLIENT_CHECK_RUN_PROJECT_H_

// A project from its file to judged cells.

#include "absl/status/status.h"
#include "client/check/project.h"
#include "client/command_context.h"
#include "edgekiln/v1/check.pb.h"

namespace edgekiln::client {

// Runs the project as one sweep, shows its table while it runs, and fills
// `result`: cells, notes, what was written and why it ended early, but for
// verdict, exit code and counts, see FinishResult(). Cells that were over when
// it ended early are judged all the same, unless the user interrupted it;
// baselines are not written then.
// Returns what the command returns: see RunCheck().
absl::Status RunProject(ProjectFile& project, CommandContext& context,
                        v1::CheckResult& result);

// Counts, and the verdict that `status` is.
void FinishResult(const absl::Status& status, v1::CheckResult& result);

}  // namespace edgekiln::client

#endif  // EK_CLIENT_CHECK_RUN_PROJECT_H_
