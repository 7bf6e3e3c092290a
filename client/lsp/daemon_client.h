#ifndef EK_CLIENT_LSP_DAEMON_CLIENT_H_
#define EK_CLIENT_LSP_DAEMON_CLIENT_H_

// The daemon behind a connection, asked by threads of our own: one checks, so
// that diagnostics never wait for a run, and one profiles.

#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "base/clock.h"
#include "base/file.h"
#include "client/connection.h"
#include "client/lsp/daemon.h"

namespace edgekiln::client::lsp {

struct DaemonClientOptions {
  // Called by each thread when it needs a connection, and again after one that
  // failed; may start a daemon. Transfers read from `files`; long waits end
  // once `stopping` says so.
  std::function<absl::StatusOr<std::unique_ptr<Connection>>(
      FileSystem& files, std::function<bool()> stopping)>
      connect;
  // Gets every answer, from any of the threads.
  std::function<void(DaemonAnswer)> tell;
};

// `files` and `clock` must outlive the result. Its destruction waits for the
// calls that are under way, which may take seconds where a daemon is silent.
std::unique_ptr<Daemon> NewDaemonClient(DaemonClientOptions options,
                                        FileSystem& files, Clock& clock);

}  // namespace edgekiln::client::lsp

#endif  // EK_CLIENT_LSP_DAEMON_CLIENT_H_
