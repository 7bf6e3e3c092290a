#ifndef EK_CLIENT_COMMANDS_JOBS_H_
#define EK_CLIENT_COMMANDS_JOBS_H_

#include "absl/status/status.h"
#include "client/command_context.h"

namespace edgekiln::client {

// `edgekiln jobs list`: newest first.
absl::Status RunJobsList(CommandContext& context);
// `edgekiln jobs show ID`.
absl::Status RunJobsShow(CommandContext& context);
// `edgekiln jobs watch ID`: as if the job had been started here; the exit code
// is the job's.
absl::Status RunJobsWatch(CommandContext& context);
// `edgekiln jobs log ID`: the job's events so far, or all with --follow.
absl::Status RunJobsLog(CommandContext& context);
// `edgekiln jobs cancel ID...`.
absl::Status RunJobsCancel(CommandContext& context);

}  // namespace edgekiln::client

#endif  // EK_CLIENT_COMMANDS_JOBS_H_
