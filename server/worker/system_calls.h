#ifndef EK_SERVER_WORKER_SYSTEM_CALLS_H_
#define EK_SERVER_WORKER_SYSTEM_CALLS_H_

// The system calls of a process that only computes (seccomp).

#include "absl/status/status.h"

namespace edgekiln::server {

// From now on this process may use its memory, its clock, its standard streams
// and the socket `channel_fd`, and nothing else: no network, no files, no other
// processes, no new executable memory. Libraries that look for a file find
// none. Other calls end the process, with CodeOfDenied(). UNAVAILABLE, with the
// reason, where the kernel or a container does not let us.
absl::Status FilterSystemCalls(int channel_fd);

// Exit codes for denied calls, and which one they stand for: the name, "another
// system call" for those without a code of their own, null for other codes.
int CodeOfDenied(int system_call);
const char* NameOfDenied(int exit_code);

}  // namespace edgekiln::server

#endif  // EK_SERVER_WORKER_SYSTEM_CALLS_H_
