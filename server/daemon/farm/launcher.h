#ifndef EK_SERVER_DAEMON_FARM_LAUNCHER_H_
#define EK_SERVER_DAEMON_FARM_LAUNCHER_H_

// What starts and stops workers. It never schedules: workers connect and pull.

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "base/log.h"

namespace edgekiln::server {

// Thread-safe. Destruction ends the workers it started.
class Launcher {
 public:
  virtual ~Launcher() = default;
  // Keeps `count` workers running that connect to `address`.
  virtual absl::Status Start(int count, const std::string& address) = 0;
};

struct ForkLauncherOptions {
  std::string program;  // Path of edgekiln-worker.
  // Of the daemon; handed on as a path.
  std::string secret_file = {};
};

// Workers as child processes, each of which takes one lease at a time and ends
// with this process whatever ends it. One that dies is started again, at once
// the first time, then ever more slowly; all end with the launcher. `log` must
// outlive it. Start() errors: NOT_FOUND (no such program).
std::unique_ptr<Launcher> NewForkLauncher(ForkLauncherOptions options,
                                          Logger& log);

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_FARM_LAUNCHER_H_
