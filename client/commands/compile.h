#ifndef EK_CLIENT_COMMANDS_COMPILE_H_
#define EK_CLIENT_COMMANDS_COMPILE_H_

#include "absl/status/status.h"
#include "client/command_context.h"

namespace edgekiln::client {

// `edgekiln compile`: the summary, and with -o the bundle.
absl::Status RunCompile(CommandContext& context);

}  // namespace edgekiln::client

#endif  // EK_CLIENT_COMMANDS_COMPILE_H_
