#ifndef EK_CLIENT_COMMANDS_INIT_H_
#define EK_CLIENT_COMMANDS_INIT_H_

// `edgekiln init`.

#include "absl/status/status.h"
#include "client/command_context.h"

namespace edgekiln::client {

// Writes the project file of a folder; needs no daemon. A usage error if there
// is one already and --force is not given, or if there are no models.
absl::Status RunInit(CommandContext& context);

}  // namespace edgekiln::client

#endif  // EK_CLIENT_COMMANDS_INIT_H_
