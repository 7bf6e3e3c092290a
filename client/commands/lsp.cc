#include "client/commands/lsp.h"

#include <unistd.h>

#include <utility>

#include "client/help.h"
#include "client/lsp/daemon_client.h"
#include "client/lsp/loop.h"

namespace edgekiln::client {
namespace {

// A daemon that is away for longer is told to the user, and asked again.
constexpr absl::Duration kReconnectLspFor = absl::Seconds(2);
// Within this time a run that a newer one supersedes is given up.
constexpr absl::Duration kWatchTick = absl::Milliseconds(5);

}  // namespace

absl::StatusOr<int> RunLsp(const ConnectWith& connect, FileSystem& files,
                           Clock& clock) {
  lsp::LoopOptions options{.input_fd = STDIN_FILENO,
                           .output_fd = STDOUT_FILENO,
                           .version = VersionText(),
                           .files = &files};
  options.new_daemon = [&](std::function<void(lsp::DaemonAnswer)> tell) {
    return lsp::NewDaemonClient(
        {.connect =
             [&connect](FileSystem& text_files,
                        std::function<bool()> stopping) {
               ConnectionOptions connection;
               connection.reconnect_for = kReconnectLspFor;
               connection.interrupted = std::move(stopping);
               connection.watch_tick = kWatchTick;
               return connect(std::move(connection), text_files);
             },
         .tell = std::move(tell)},
        files, clock);
  };
  return lsp::ServeLanguage(options);
}

}  // namespace edgekiln::client
