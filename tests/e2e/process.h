#ifndef EK_TESTS_E2E_PROCESS_H_
#define EK_TESTS_E2E_PROCESS_H_

// Programs as a user starts them: no shell in between, output into files, in a
// process group of their own. None outlives the test, not even one that is
// killed.

#include <sys/types.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"

namespace edgekiln::tests {

struct ProcessOptions {
  std::string program;                 // Path.
  std::vector<std::string> arguments;  // Without the program's name.
  // On top of this process's own environment.
  std::map<std::string, std::string> environment;
  std::string stdout_path;  // Truncated first.
  std::string stderr_path;
  int max_open_files = 0;  // As `ulimit -n`; 0: as this process has it.
};

// Thread-compatible. Must be created by the main thread: a child dies with the
// thread that started it.
class Process {
 public:
  // Fails the running test and returns null if the program cannot be started.
  static std::unique_ptr<Process> Start(const ProcessOptions& options);
  // Kills the whole group.
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  // The exit code, or minus the signal that ended it; empty if it still runs
  // after `limit`.
  std::optional<int> WaitFor(absl::Duration limit);
  // To the process alone, not its group.
  void Signal(int signal_number);
  pid_t pid() const { return pid_; }

 private:
  explicit Process(pid_t pid) : pid_(pid) {}

  const pid_t pid_;
  std::optional<int> status_;  // Once it has ended.
};

}  // namespace edgekiln::tests

#endif  // EK_TESTS_E2E_PROCESS_H_
