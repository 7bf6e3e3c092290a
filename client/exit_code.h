#ifndef EK_CLIENT_EXIT_CODE_H_
#define EK_CLIENT_EXIT_CODE_H_

// What the shell learns of a command, and the errors that only a command line
// can have.

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace edgekiln::client {

// Part of the interface: scripts and CI depend on the numbers.
enum class ExitCode : int {
  kPass = 0,
  kModel = 1,  // Model, data or target: unsupported op, does not fit.
  kUsage = 2,  // Unknown flag or option, a named local file does not exist.
  kGate = 3,   // The run finished and its result is not good enough.
  kInfra = 4,  // Daemon unreachable, no worker in time, quota, our bug.
  kDeadline = 5,
  kAuth = 6,
  kInterrupted = 130,  // 143 by SIGTERM, 129 by SIGHUP: InterruptedExitCode().
};

// Reasons (ErrorDetail.reason) of errors made here.
inline constexpr char kReasonUsage[] = "USAGE";
inline constexpr char kReasonGate[] = "GATE_FAILED";
inline constexpr char kReasonUnreachable[] = "DAEMON_UNREACHABLE";
inline constexpr char kReasonNoWorker[] = "NO_WORKER";
inline constexpr char kReasonQueueDeadline[] = "QUEUE_DEADLINE";
inline constexpr char kReasonTimeout[] = "TIMEOUT";
inline constexpr char kReasonInterrupted[] = "INTERRUPTED";
// Of a daemon's answer: the next daemon will take the same request.
inline constexpr char kReasonShuttingDown[] = "SHUTTING_DOWN";

// kPass for OK. Decided by the reason where it is one of the above, then by the
// status code (auth, deadline, cancelled), then by whose fault it is.
ExitCode ExitCodeFor(const absl::Status& status);

// A mistake on the command line. `fix` and `where` may be empty.
absl::Status UsageError(absl::string_view what, absl::string_view where,
                        absl::string_view need, absl::string_view fix);

}  // namespace edgekiln::client

#endif  // EK_CLIENT_EXIT_CODE_H_
