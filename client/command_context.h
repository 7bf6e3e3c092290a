#ifndef EK_CLIENT_COMMAND_CONTEXT_H_
#define EK_CLIENT_COMMAND_CONTEXT_H_

// What every command is handed.

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/file.h"
#include "client/command_line.h"
#include "client/connection.h"
#include "client/render/progress.h"
#include "reports/text/text.h"

namespace edgekiln::client {

struct CommandContext {
  const CommandLine& line;
  Connection& connection;
  FileSystem& files;
  Clock& clock;
  Progress& progress;
  // Results, to the standard output. The caller clears the progress first. Text
  // and JSON, in which logs of CI find no commands; and bytes as they are, such
  // as those of a file.
  std::function<void(absl::string_view)> print;
  std::function<void(absl::string_view)> print_bytes;
  Style style = Style::Plain();
  // Somebody looks at the progress: jobs are INTERACTIVE unless --class says
  // otherwise.
  bool on_terminal = false;
  // Monotonic time at which --timeout has elapsed.
  absl::Duration deadline = absl::InfiniteDuration();
  // The daemon was started by a command of this user, as were its workers:
  // nobody else will set right what is wrong with them.
  bool own_daemon = false;
  std::string server{};  // Its address, for people.
  // Lines of the window that results are printed to; absent: it is no terminal,
  // or one where no cursor can be moved.
  std::function<int()> height = nullptr;
  // Why there is no daemon to connect to. Of `check` alone, whose outputs say
  // so; other commands are not run then.
  absl::Status reachable{};
};

}  // namespace edgekiln::client

#endif  // EK_CLIENT_COMMAND_CONTEXT_H_
