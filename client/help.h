#ifndef EK_CLIENT_HELP_H_
#define EK_CLIENT_HELP_H_

// The prose of --help: what a command is for, shown by examples.

#include <string>

#include "client/command_line.h"

namespace edgekiln::client {

// First lines of `edgekiln --help`.
std::string HelpHeader();
// Examples and exit codes below the options. kHelp: of `edgekiln` itself.
std::string HelpFooter(Command command);
// "edgekiln 0.1.0".
std::string VersionText();
// The same as JSON: {"version": ...}.
std::string VersionJson();

}  // namespace edgekiln::client

#endif  // EK_CLIENT_HELP_H_
