#ifndef EK_CLIENT_COMMANDS_QUARANTINE_H_
#define EK_CLIENT_COMMANDS_QUARANTINE_H_

#include "absl/status/status.h"
#include "client/command_context.h"

namespace edgekiln::client {

// `edgekiln quarantine list`: stages that are not tried again, newest first.
absl::Status RunQuarantineList(CommandContext& context);
// `edgekiln quarantine release ID...`.
absl::Status RunQuarantineRelease(CommandContext& context);

}  // namespace edgekiln::client

#endif  // EK_CLIENT_COMMANDS_QUARANTINE_H_
