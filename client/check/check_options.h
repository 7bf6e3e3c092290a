#ifndef EK_CLIENT_CHECK_CHECK_OPTIONS_H_
#define EK_CLIENT_CHECK_CHECK_OPTIONS_H_

// `check` and `init` as CLI11 is told them.

#include <CLI/CLI.hpp>
#include <string>

#include "absl/status/status.h"
#include "client/command_line.h"

namespace edgekiln::client {

struct RawOptions;

void AddCheckCommands(CLI::App& root, RawOptions& raw);

// What the options say together: at most one output is the standard output,
// and no two are the same file. A usage error.
absl::Status CheckOutputsOf(const CommandLine& line);

// Examples of both commands; "" for others.
std::string CheckHelpFooter(Command command);

}  // namespace edgekiln::client

#endif  // EK_CLIENT_CHECK_CHECK_OPTIONS_H_
