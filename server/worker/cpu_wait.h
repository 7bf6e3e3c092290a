#ifndef EK_SERVER_WORKER_CPU_WAIT_H_
#define EK_SERVER_WORKER_CPU_WAIT_H_

#include <sys/types.h>

#include "absl/time/time.h"

namespace edgekiln::server {

// How long a process could have run so far and had no processor: of its
// threads, the one that waited longest. 0 where the kernel does not say.
absl::Duration CpuWaitOf(pid_t pid);

}  // namespace edgekiln::server

#endif  // EK_SERVER_WORKER_CPU_WAIT_H_
