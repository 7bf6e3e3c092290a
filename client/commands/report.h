#ifndef EK_CLIENT_COMMANDS_REPORT_H_
#define EK_CLIENT_COMMANDS_REPORT_H_

// `edgekiln report diff`.

#include <string>

#include "absl/status/status.h"
#include "base/file.h"
#include "client/command_context.h"

namespace edgekiln::client {

// Prints what changed between two reports. GATE_FAILED with --max-regression
// if it is broken.
absl::Status RunReportDiff(CommandContext& context);

// Whether A or B of `report diff` is a file and not a job: a path with '/', or
// ending in .json, or an existing file.
bool NamesReportFile(FileSystem& files, const std::string& source);

}  // namespace edgekiln::client

#endif  // EK_CLIENT_COMMANDS_REPORT_H_
