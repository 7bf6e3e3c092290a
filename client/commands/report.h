#ifndef EK_CLIENT_COMMANDS_REPORT_H_
#define EK_CLIENT_COMMANDS_REPORT_H_

// `edgekiln report diff` and `report baseline`.

#include "absl/status/status.h"
#include "client/command_context.h"

namespace edgekiln::client {

// Prints the reports of a job or a file, all of them or those on the targets
// that --target names. Returns the error of the first target that failed.
absl::Status RunReportShow(CommandContext& context);

// Prints what changed between two reports, or between those of the same targets
// in two lists of them. GATE_FAILED if that breaks --max-regression or
// --max-accuracy-drop.
absl::Status RunReportDiff(CommandContext& context);

// Writes reports without what differs from run to run, sorted by target.
absl::Status RunReportBaseline(CommandContext& context);

}  // namespace edgekiln::client

#endif  // EK_CLIENT_COMMANDS_REPORT_H_
