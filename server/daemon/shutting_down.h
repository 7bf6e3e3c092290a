#ifndef EK_SERVER_DAEMON_SHUTTING_DOWN_H_
#define EK_SERVER_DAEMON_SHUTTING_DOWN_H_

#include "absl/status/status.h"

namespace edgekiln::server {

// UNAVAILABLE with reason SHUTTING_DOWN: what a daemon answers on its way out.
// Clients send the same request again, to the next daemon.
absl::Status ShuttingDown();

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_SHUTTING_DOWN_H_
