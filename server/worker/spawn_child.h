#ifndef EK_SERVER_WORKER_SPAWN_CHILD_H_
#define EK_SERVER_WORKER_SPAWN_CHILD_H_

// How processes of a worker's own program are started.

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace edgekiln::server {

struct ChildSpawn {
  std::string binary;
  std::vector<std::string> arguments;  // The name for process lists first.
  // Becomes descriptor kChildChannelFd (child_process.h); others are inherited
  // but for those that close on exec.
  int channel_fd = -1;
  // The group of processes that it joins; 0: one of its own; empty: ours.
  std::optional<pid_t> group{};
  bool finds_programs = false;  // It has PATH.
};

// Its stdin is empty, its signals are not blocked, and of the environment it
// has what it takes to start. UNAVAILABLE (Fault::kInfra, WORKER_NO_PROCESS) if
// it does not start.
absl::StatusOr<pid_t> SpawnChild(const ChildSpawn& spawn);

// That error, of another system call.
absl::Status NoProcess(absl::string_view call, int error);

}  // namespace edgekiln::server

#endif  // EK_SERVER_WORKER_SPAWN_CHILD_H_
