#ifndef EK_CLIENT_COMMANDS_RUN_H_
#define EK_CLIENT_COMMANDS_RUN_H_

#include "absl/status/status.h"
#include "client/command_context.h"

namespace edgekiln::client {

// `edgekiln run`: the outputs, into a .npz file.
absl::Status RunOutputs(CommandContext& context);

}  // namespace edgekiln::client

#endif  // EK_CLIENT_COMMANDS_RUN_H_
