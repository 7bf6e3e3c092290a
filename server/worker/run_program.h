#ifndef EK_SERVER_WORKER_RUN_PROGRAM_H_
#define EK_SERVER_WORKER_RUN_PROGRAM_H_

// Runs a program of this machine to its end, without a shell.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace edgekiln::server {

struct ProgramRun {
  std::string program;                   // Absolute path.
  std::vector<std::string> arguments;    // Without the program's name.
  std::vector<std::string> environment;  // All of it: "LC_ALL=C".
  std::string folder = "/";              // The program works there.
  // With a limit, the program and all that it starts are a group of processes,
  // of which nothing is left afterwards.
  absl::Duration time_limit = absl::InfiniteDuration();
  // They stay in the caller's group instead, as they must where nobody may
  // leave that or kill. A program over its limit then runs on until somebody
  // else ends the group.
  bool in_callers_group = false;
  // Of what it writes to stdout and to stderr, each; the rest is dropped.
  int64_t max_output_bytes = int64_t{64} << 10;
};

struct ProgramEnd {
  int exit_code = 0;  // If `signal` is 0.
  int signal = 0;
  bool timed_out = false;  // It was killed.
  std::string output;
  std::string errors;

  bool ok() const { return exit_code == 0 && signal == 0 && !timed_out; }
};

// Its stdin is empty; it inherits no other descriptors. UNAVAILABLE
// (Fault::kInfra) if it does not start.
absl::StatusOr<ProgramEnd> RunProgram(const ProgramRun& run);

// "exit code 1", "signal 11 (Segmentation fault)", "more than 5s".
std::string EndText(const ProgramEnd& end, const ProgramRun& run);

// The executable file of that name in the absolute folders of `path`
// ("/usr/local/bin:/usr/bin"); the first of them has it.
std::optional<std::string> FindProgram(absl::string_view name,
                                       absl::string_view path);

// PATH of this process, or what it is without one.
std::string SearchPath();

}  // namespace edgekiln::server

#endif  // EK_SERVER_WORKER_RUN_PROGRAM_H_
