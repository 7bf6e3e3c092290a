#ifndef EK_CLIENT_COMMANDS_TOP_H_
#define EK_CLIENT_COMMANDS_TOP_H_

#include "absl/status/status.h"
#include "client/command_context.h"

namespace edgekiln::client {

// `edgekiln top`: shows the daemon, its workers and its jobs until Ctrl-C.
// Prints once if the output is not a terminal, and with --once or --json.
absl::Status RunTop(CommandContext& context);

}  // namespace edgekiln::client

#endif  // EK_CLIENT_COMMANDS_TOP_H_
