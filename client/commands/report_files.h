#ifndef EK_CLIENT_COMMANDS_REPORT_FILES_H_
#define EK_CLIENT_COMMANDS_REPORT_FILES_H_

// `edgekiln report html` and `report export`.

#include "absl/status/status.h"
#include "client/command_context.h"

namespace edgekiln::client {

// Writes reports as one HTML page, those after the first beside it.
absl::Status RunReportHtml(CommandContext& context);

// Writes reports for another program: JSON, CSV, Markdown or a Perfetto trace.
absl::Status RunReportExport(CommandContext& context);

}  // namespace edgekiln::client

#endif  // EK_CLIENT_COMMANDS_REPORT_FILES_H_
