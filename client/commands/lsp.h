#ifndef EK_CLIENT_COMMANDS_LSP_H_
#define EK_CLIENT_COMMANDS_LSP_H_

#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "base/clock.h"
#include "base/file.h"
#include "client/connection.h"

namespace edgekiln::client {

// Connects as the command line says, with the rest of `options` as given; may
// start a daemon. Called from several threads.
using ConnectWith = std::function<absl::StatusOr<std::unique_ptr<Connection>>(
    ConnectionOptions options, FileSystem& files)>;

// `edgekiln lsp`: serves an editor on standard input and output until that says
// `exit`. Returns the exit code that the protocol asks for. Needs no daemon to
// begin with.
absl::StatusOr<int> RunLsp(const ConnectWith& connect, FileSystem& files,
                           Clock& clock);

}  // namespace edgekiln::client

#endif  // EK_CLIENT_COMMANDS_LSP_H_
