#ifndef EK_CLIENT_JOB_OPTIONS_H_
#define EK_CLIENT_JOB_OPTIONS_H_

// The commands about jobs that are there already, and what they left.

#include <CLI/CLI.hpp>

#include "client/option_definitions.h"

namespace edgekiln::client {

// `raw` must outlive `root`.
void AddJobCommands(CLI::App& root, RawOptions& raw);
void AddQuarantineCommands(CLI::App& root, RawOptions& raw);
void AddTopCommand(CLI::App& root, RawOptions& raw);
void AddReportCommands(CLI::App& root, RawOptions& raw);

}  // namespace edgekiln::client

#endif  // EK_CLIENT_JOB_OPTIONS_H_
