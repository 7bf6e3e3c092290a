#include "server/worker/builder_guard.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/status_macros.h"
#include "server/worker/child_process.h"
#include "server/worker/scratch_folder.h"
#include "server/worker/spawn_child.h"

namespace edgekiln::server {

absl::StatusOr<std::unique_ptr<BuilderGuard>> BuilderGuard::Start(
    const std::string& binary, const std::string& name, pid_t group,
    const std::string& folder) {
  int ends[2] = {-1, -1};
  if (pipe2(ends, O_CLOEXEC) != 0) return NoProcess("pipe2", errno);
  const ScopedFd read_end(ends[0]);
  ScopedFd life(ends[1]);
  EK_ASSIGN_OR_RETURN(const pid_t pid,
                      SpawnChild({.binary = binary,
                                  .arguments = {name, "--guard", folder},
                                  .channel_fd = read_end.get(),
                                  .group = group}));
  return std::unique_ptr<BuilderGuard>(new BuilderGuard(pid, std::move(life)));
}

BuilderGuard::~BuilderGuard() {
  kill(pid_, SIGKILL);
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

int RunGuard(const std::string& folder) {
  // Ctrl-C at a terminal, or the end of a service, is for the worker.
  for (const int each : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
    signal(each, SIG_IGN);
  }
  char byte = 0;
  while (read(kChildChannelFd, &byte, 1) != 0) {
    if (errno != EINTR) return 1;
  }
  // One outside of the group removes the folder once nobody writes there. The
  // group exists as long as this process does, so its number is still its own.
  const pid_t remover = fork();
  if (remover == 0) {
    setpgid(0, 0);
    RemoveFolder(folder);
    _exit(0);
  }
  if (remover > 0) setpgid(remover, remover);
  kill(0, SIGKILL);
  return 0;
}

}  // namespace edgekiln::server
