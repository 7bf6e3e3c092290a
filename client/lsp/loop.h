#ifndef EK_CLIENT_LSP_LOOP_H_
#define EK_CLIENT_LSP_LOOP_H_

// The language server on two file descriptors.

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/file.h"
#include "client/lsp/daemon.h"

namespace edgekiln::client::lsp {

struct LoopOptions {
  int input_fd = 0;
  int output_fd = 1;
  std::string version{};
  // Makes what asks the daemon; it hands its answers, from any thread, to
  // `tell`, which outlives it.
  std::function<std::unique_ptr<Daemon>(std::function<void(DaemonAnswer)> tell)>
      new_daemon{};
  // Where files that others name are looked for. Outlives the call.
  FileSystem* files = nullptr;
  // How long to wait, in the end, for calls to a daemon or file system that is
  // silent; then the process leaves with them under way.
  absl::Duration patience = absl::Seconds(1);
};

// Serves until `exit` or the end of the input, and returns the exit code of the
// protocol: 0 after `shutdown`, else 1. INVALID_ARGUMENT if the input is not
// the protocol; UNAVAILABLE if the output cannot be written.
absl::StatusOr<int> ServeLanguage(const LoopOptions& options);

}  // namespace edgekiln::client::lsp

#endif  // EK_CLIENT_LSP_LOOP_H_
