#ifndef EK_CLIENT_COMMANDS_CHECK_H_
#define EK_CLIENT_COMMANDS_CHECK_H_

// `edgekiln check`.

#include "absl/status/status.h"
#include "client/command_context.h"

namespace edgekiln::client {

// Runs a project as one sweep and judges each cell by its budgets and its
// baseline. The outputs that the command line names are written whatever comes
// of it, unless one of them cannot be, or the user interrupts.
//
// Errors: USAGE; those of the sweep; CELLS_FAILED; GATE_FAILED with a line for
// everything that is broken. In this order: a fault of the service, of a model,
// a broken limit.
absl::Status RunCheck(CommandContext& context);

}  // namespace edgekiln::client

#endif  // EK_CLIENT_COMMANDS_CHECK_H_
