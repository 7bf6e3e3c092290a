#ifndef EK_SERVER_WORKER_BUILDER_CALLS_H_
#define EK_SERVER_WORKER_BUILDER_CALLS_H_

// The system calls of a process that runs compilers (seccomp).

#include "absl/status/status.h"

namespace edgekiln::server {

// From now on this process and all that it starts have no network but the
// socket `channel_fd`, and do not trace, signal, mount, change their user,
// leave their group of processes, raise limits, or change the machine: such
// calls return an error. Whatever else compilers do works. UNAVAILABLE, with
// the reason, where the kernel or a container does not let us.
absl::Status FilterBuilderCalls(int channel_fd);

}  // namespace edgekiln::server

#endif  // EK_SERVER_WORKER_BUILDER_CALLS_H_
