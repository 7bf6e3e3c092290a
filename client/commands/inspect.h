#ifndef EK_CLIENT_COMMANDS_INSPECT_H_
#define EK_CLIENT_COMMANDS_INSPECT_H_

#include "absl/status/status.h"
#include "client/command_context.h"

namespace edgekiln::client {

// `edgekiln inspect`: inputs, outputs and layers; with a target, where each
// layer would run.
absl::Status RunInspect(CommandContext& context);

}  // namespace edgekiln::client

#endif  // EK_CLIENT_COMMANDS_INSPECT_H_
