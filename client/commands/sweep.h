#ifndef EK_CLIENT_COMMANDS_SWEEP_H_
#define EK_CLIENT_COMMANDS_SWEEP_H_

#include "absl/status/status.h"
#include "client/command_context.h"

namespace edgekiln::client {

// Many models on many chips. The error is that of SweepRows::Outcome().
absl::Status RunSweep(CommandContext& context);
// The same from a file.
absl::Status RunSweepRun(CommandContext& context);
absl::Status RunSweepList(CommandContext& context);
absl::Status RunSweepShow(CommandContext& context);
absl::Status RunSweepWatch(CommandContext& context);
absl::Status RunSweepCancel(CommandContext& context);

}  // namespace edgekiln::client

#endif  // EK_CLIENT_COMMANDS_SWEEP_H_
