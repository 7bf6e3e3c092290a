#ifndef EK_CLIENT_RETRY_H_
#define EK_CLIENT_RETRY_H_

// Requests that the daemon refused for the moment: its queue or its disk is
// full, and it says when to come again.

#include <functional>

#include "absl/status/status.h"
#include "client/command_context.h"
#include "client/interrupt.h"

namespace edgekiln::client {

// Calls `attempt` until it succeeds, fails otherwise than by such a refusal, or
// the next attempt would come after --timeout; without one, after ten minutes
// of waiting. Then returns its last answer. Tells that it waits, and why.
// `interrupt` may be null. Errors: also INTERRUPTED.
absl::Status RetryWhenTold(CommandContext& context, const Interrupt* interrupt,
                           const std::function<absl::Status()>& attempt);

// CANCELLED with reason INTERRUPTED: the user pressed Ctrl-C.
absl::Status Interrupted(const CommandContext& context);

}  // namespace edgekiln::client

#endif  // EK_CLIENT_RETRY_H_
