#ifndef EK_CLIENT_LOCAL_DAEMON_H_
#define EK_CLIENT_LOCAL_DAEMON_H_

// The user's own daemon: found if it runs, started if it does not.
//
// `edgekilnd --local` listens on the socket "edgekilnd.sock" in the user's
// runtime folder and holds a lock, so that of several started at once one
// survives. Whoever needs it starts one and waits for the socket; the others'
// attempts end by themselves. While a daemon that is going down still holds the
// lock, attempts are repeated until it has let go.
//
// A daemon whose program file was replaced (an update, a new build) would run
// the old code until it idles out, and refuse the new workers. It is asked to
// leave and a new one is started; jobs are durable and go on there.

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"

namespace edgekiln::client {

struct LocalDaemonOptions {
  std::string runtime_folder;  // Absolute.
  std::string program;         // Path of edgekilnd.
  // From the first look until something listens.
  absl::Duration patience = absl::Seconds(10);
};

// $XDG_RUNTIME_DIR/edgekiln, or /tmp/edgekiln-UID where the system sets none;
// and edgekilnd in the folder of the running program.
absl::StatusOr<LocalDaemonOptions> DefaultLocalDaemon();

// The path of the socket in the folder.
std::string LocalSocketPath(const LocalDaemonOptions& options);

// The socket in the folder of an `edgekilnd` that the user runs without
// --listen; empty if none accepts connections there, or it is not the user's.
std::string FindServiceSocket(const LocalDaemonOptions& options);

// Returns once something of the user's own accepts connections on the socket.
// Creates the runtime folder, private to the user. Errors: PERMISSION_DENIED
// (folder or peer belong to somebody else, or are open to others),
// DAEMON_UNREACHABLE (did not start; quotes the daemon's last words).
absl::Status EnsureLocalDaemon(const LocalDaemonOptions& options, Clock& clock);

}  // namespace edgekiln::client

#endif  // EK_CLIENT_LOCAL_DAEMON_H_
