#ifndef EK_CLIENT_COMMANDS_PROFILE_H_
#define EK_CLIENT_COMMANDS_PROFILE_H_

#include "absl/status/status.h"
#include "client/command_context.h"

namespace edgekiln::client {

// `edgekiln profile`: cycles per layer.
absl::Status RunProfile(CommandContext& context);

}  // namespace edgekiln::client

#endif  // EK_CLIENT_COMMANDS_PROFILE_H_
