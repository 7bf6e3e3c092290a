#ifndef EK_CLIENT_PARSE_ERROR_H_
#define EK_CLIENT_PARSE_ERROR_H_

// Usage errors for arguments that CLI11 could not parse, with the nearest
// known option or command.

#include <CLI/CLI.hpp>
#include <string>

#include "absl/status/status.h"

namespace edgekiln::client {

// The command that the arguments had reached when they stopped making sense.
const CLI::App* Reached(const CLI::App* app);

// "edgekiln jobs list".
std::string FullName(const CLI::App* app);

// Whether the arguments stopped where a command is missing, at something that
// does not name one: `edgekiln nonsense --help`.
bool HasUnknownCommand(const CLI::App& root);

absl::Status UnknownArgument(const CLI::App& app, const std::string& argument);

absl::Status FromCliError(const CLI::App& root, const CLI::ParseError& error);

}  // namespace edgekiln::client

#endif  // EK_CLIENT_PARSE_ERROR_H_
