// `edgekiln`: the command line of the service. Parses, connects, dispatches,
// and turns the outcome into output and exit code.

#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/status_macros.h"
#include "client/command_context.h"
#include "client/command_line.h"
#include "client/commands/check.h"
#include "client/commands/compile.h"
#include "client/commands/init.h"
#include "client/commands/inspect.h"
#include "client/commands/jobs.h"
#include "client/commands/lsp.h"
#include "client/commands/profile.h"
#include "client/commands/quantize.h"
#include "client/commands/quarantine.h"
#include "client/commands/report.h"
#include "client/commands/report_files.h"
#include "client/commands/run.h"
#include "client/commands/sweep.h"
#include "client/commands/targets.h"
#include "client/commands/top.h"
#include "client/commands/validate.h"
#include "client/connection.h"
#include "client/error_detail.h"
#include "client/exit_code.h"
#include "client/interrupt.h"
#include "client/local_daemon.h"
#include "client/log_commands.h"
#include "client/render/error_block.h"
#include "client/render/progress.h"
#include "client/report_sources.h"
#include "reports/text/json.h"

namespace edgekiln::client {
namespace {

constexpr char kServerVariable[] = "EDGEKILN_SERVER";

Environment ReadEnvironment() {
  const char* server = getenv(kServerVariable);
  return {.server = server == nullptr ? "" : server};
}

// False if not everything could be written (a full disk).
bool Write(std::FILE* file, absl::string_view text) {
  const size_t written = std::fwrite(text.data(), 1, text.size(), file);
  return written == text.size() && std::fflush(file) == 0;
}

absl::Status OutputLost() {
  return MakeError(absl::StatusCode::kUnavailable,
                   {.fault = Fault::kInfra,
                    .reason = "OUTPUT",
                    .what = "the standard output cannot be written",
                    .fix = "send it to a file on a disk with room"});
}

// Less is not believed: a terminal that does not know says 0.
constexpr int kNarrowestTerminal = 20;

int TerminalWidth(int fd) {
  winsize size = {};
  const bool known = ioctl(fd, TIOCGWINSZ, &size) == 0;
  return known && size.ws_col > kNarrowestTerminal ? size.ws_col : 80;
}

// 0: not known, or the width is not.
int TerminalHeight(int fd) {
  winsize size = {};
  const bool known = ioctl(fd, TIOCGWINSZ, &size) == 0;
  return known && size.ws_col > kNarrowestTerminal ? size.ws_row : 0;
}

// No cursor can be moved there, as in an editor's shell.
bool IsDumb() {
  const char* terminal = getenv("TERM");
  return terminal != nullptr && absl::string_view(terminal) == "dumb";
}

Style StyleOf(int fd) {
  if (isatty(fd) == 0) return Style::Plain();
  // https://no-color.org: whatever it is set to, unless that is empty.
  const char* no_color = getenv("NO_COLOR");
  const bool coloured =
      !IsDumb() && (no_color == nullptr || no_color[0] == '\0');
  return Style::Terminal([fd] { return TerminalWidth(fd); }, coloured);
}

ProgressStyle ProgressStyleOf(const CommandLine& line) {
  if (line.quiet) return ProgressStyle::kNone;
  return isatty(STDERR_FILENO) != 0 && !IsDumb() ? ProgressStyle::kLive
                                                 : ProgressStyle::kPlain;
}

// Files can be read where no daemon can be had.
bool NeedsDaemon(const CommandLine& line, FileSystem& files) {
  if (line.command == Command::kInit ||
      line.command == Command::kTargetsSources) {
    return false;
  }
  if (line.command != Command::kReportShow &&
      line.command != Command::kReportDiff &&
      line.command != Command::kReportBaseline &&
      line.command != Command::kReportHtml &&
      line.command != Command::kReportExport) {
    return true;
  }
  return std::any_of(line.names.begin(), line.names.end(),
                     [&](const std::string& source) {
                       return !NamesReportFile(files, source);
                     });
}

// How long a daemon that restarts is waited for.
absl::Duration ReconnectFor(const CommandLine& line) {
  return line.timeout == absl::InfiniteDuration() ? kReconnectFor
                                                  : line.timeout;
}

struct Connected {
  std::unique_ptr<Connection> connection;
  bool own_daemon = false;
  std::string address;  // For people.
};

Connected ToDaemon(ConnectionOptions options, bool own, FileSystem& files,
                   Clock& clock) {
  const std::string address = options.shown;
  return {NewConnection(std::move(options), files, clock), own, address};
}

// Of a command that a user waits for.
ConnectionOptions ForCommand(const CommandLine& line, Progress& progress,
                             Clock& clock) {
  ConnectionOptions options;
  options.timeout = line.timeout;
  options.deadline = clock.Now() + line.timeout;
  options.reconnect_for = ReconnectFor(line);
  options.on_waiting = [&progress](bool waiting) {
    progress.OnReconnecting(waiting);
  };
  options.interrupted = InterruptRequested;
  return options;
}

absl::StatusOr<Connected> Connect(const CommandLine& line,
                                  ConnectionOptions options, FileSystem& files,
                                  Clock& clock) {
  if (!line.server.empty()) {
    const bool variable = line.server_from_variable;
    EK_ASSIGN_OR_RETURN(
        options.grpc_target,
        ParseServerAddress(line.server, variable
                                            ? absl::StrCat(kServerVariable, "=")
                                            : "--server "));
    options.shown = line.server;
    options.fix = absl::StrCat(
        "check that edgekilnd runs there and listens on that address, or ",
        variable ? absl::StrCat("unset ", kServerVariable)
                 : "leave --server out",
        " to use a daemon of your own");
    return ToDaemon(std::move(options), /*own=*/false, files, clock);
  }
  EK_ASSIGN_OR_RETURN(const LocalDaemonOptions local, DefaultLocalDaemon());
  if (options.shown = FindServiceSocket(local); !options.shown.empty()) {
    options.grpc_target = "unix:" + options.shown;
    options.fix = "start edgekilnd again";
    return ToDaemon(std::move(options), /*own=*/false, files, clock);
  }
  if (NeedsDaemon(line, files)) {
    EK_RETURN_IF_ERROR(EnsureLocalDaemon(local, clock));
  }
  options.shown = LocalSocketPath(local);
  options.grpc_target = "unix:" + options.shown;
  options.fix = "read edgekilnd.log beside the socket";
  options.revive = [local, &clock] { return EnsureLocalDaemon(local, clock); };
  return ToDaemon(std::move(options), /*own=*/true, files, clock);
}

absl::Status Dispatch(CommandContext& context) {
  switch (context.line.command) {
    case Command::kInspect:
      return RunInspect(context);
    case Command::kQuantize:
      return RunQuantize(context);
    case Command::kCompile:
      return RunCompile(context);
    case Command::kProfile:
      return RunProfile(context);
    case Command::kValidate:
      return RunValidate(context);
    case Command::kRun:
      return RunOutputs(context);
    case Command::kTargetsList:
      return RunTargetsList(context);
    case Command::kTargetsShow:
      return RunTargetsShow(context);
    case Command::kTargetsCheck:
      return RunTargetsCheck(context);
    case Command::kTargetsSources:
      return RunTargetsSources(context);
    case Command::kJobsList:
      return RunJobsList(context);
    case Command::kJobsShow:
      return RunJobsShow(context);
    case Command::kJobsWatch:
      return RunJobsWatch(context);
    case Command::kJobsLog:
      return RunJobsLog(context);
    case Command::kJobsCancel:
      return RunJobsCancel(context);
    case Command::kSweep:
      return RunSweep(context);
    case Command::kSweepRun:
      return RunSweepRun(context);
    case Command::kSweepList:
      return RunSweepList(context);
    case Command::kSweepShow:
      return RunSweepShow(context);
    case Command::kSweepWatch:
      return RunSweepWatch(context);
    case Command::kSweepCancel:
      return RunSweepCancel(context);
    case Command::kQuarantineList:
      return RunQuarantineList(context);
    case Command::kQuarantineRelease:
      return RunQuarantineRelease(context);
    case Command::kTop:
      return RunTop(context);
    case Command::kReportShow:
      return RunReportShow(context);
    case Command::kReportDiff:
      return RunReportDiff(context);
    case Command::kReportBaseline:
      return RunReportBaseline(context);
    case Command::kReportHtml:
      return RunReportHtml(context);
    case Command::kReportExport:
      return RunReportExport(context);
    case Command::kCheck:
      return RunCheck(context);
    case Command::kInit:
      return RunInit(context);
    case Command::kHelp:
    case Command::kVersion:
    case Command::kCompletion:
    case Command::kLsp:
    case Command::kMan:
      break;  // Handled before anything is set up.
  }
  return absl::OkStatus();
}

// `printed`: whether the standard output already holds a result.
absl::Status RunCommand(const CommandLine& line, bool& printed) {
  const std::unique_ptr<Clock> clock = NewRealClock();
  const std::unique_ptr<FileSystem> files = NewPosixFileSystem();
  const absl::Duration start = clock->Monotonic();
  LogCommandFilter progress_filter;
  const auto write_progress = [&](absl::string_view text) {
    Write(stderr, progress_filter.Text(text));
  };
  Progress progress({.style = ProgressStyleOf(line),
                     .colours = StyleOf(STDERR_FILENO),
                     .write = write_progress,
                     .width =
                         [] {
                           return isatty(STDERR_FILENO) != 0
                                      ? TerminalWidth(STDERR_FILENO)
                                      : 0;
                         },
                     .height = [] { return TerminalHeight(STDERR_FILENO); },
                     .on_lines_above = SetLiveLinesAbove,
                     .now = [&] { return clock->Monotonic(); },
                     .reconnect_for = ReconnectFor(line)});
  absl::StatusOr<Connected> connected =
      Connect(line, ForCommand(line, progress, *clock), *files, *clock);
  const absl::Status reachable = connected.status();
  if (!reachable.ok()) {
    if (line.command != Command::kCheck) return reachable;
    connected = ToDaemon({}, /*own=*/false, *files, *clock);
  }
  bool lost = false;
  LogCommandFilter filter;
  const auto write = [&](absl::string_view bytes) {
    printed = true;
    lost |= !Write(stdout, bytes);
  };
  const auto print_bytes = [&](absl::string_view bytes) {
    filter.Skip(bytes);
    write(bytes);
  };
  const auto print = [&](absl::string_view text) {
    write(line.json ? filter.Json(text) : filter.Text(text));
  };
  CommandContext context{.line = line,
                         .connection = *connected->connection,
                         .files = *files,
                         .clock = *clock,
                         .progress = progress,
                         .print = print,
                         .print_bytes = print_bytes,
                         .style = StyleOf(STDOUT_FILENO),
                         .on_terminal = isatty(STDERR_FILENO) != 0,
                         .deadline = start + line.timeout,
                         .own_daemon = connected->own_daemon,
                         .server = connected->address,
                         .reachable = reachable};
  if (isatty(STDOUT_FILENO) != 0 && !IsDumb()) {
    context.height = [] { return TerminalHeight(STDOUT_FILENO); };
  }
  const absl::Status status = Dispatch(context);
  return status.ok() && lost ? OutputLost() : status;
}

// An editor is at the other end of standard input and output.
absl::StatusOr<int> RunLanguageServer(const CommandLine& line) {
  if (!line.server.empty()) {
    EK_RETURN_IF_ERROR(ParseServerAddress(line.server).status());
  }
  const std::unique_ptr<Clock> clock = NewRealClock();
  const std::unique_ptr<FileSystem> files = NewPosixFileSystem();
  const auto connect =
      [&](ConnectionOptions options,
          FileSystem& texts) -> absl::StatusOr<std::unique_ptr<Connection>> {
    EK_ASSIGN_OR_RETURN(Connected connected,
                        Connect(line, std::move(options), texts, *clock));
    return std::move(connected.connection);
  };
  return RunLsp(connect, *files, *clock);
}

// How an error goes to the standard output.
enum class ErrorAs {
  kNothing,
  kJson,
  kJsonLine,  // The last of several.
};

ExitCode Fail(const absl::Status& status, const std::string& server,
              ErrorAs as) {
  const v1::ErrorDetail error = WithServer(DetailFromStatus(status), server);
  LogCommandFilter filter;
  if (as != ErrorAs::kNothing) {
    Write(stdout, filter.Json(as == ErrorAs::kJson
                                  ? ToJsonWrapped("error", error)
                                  : ToJsonLineWrapped("error", error)));
  }
  Write(stderr, filter.Text(RenderError(error, StyleOf(STDERR_FILENO), "error",
                                        LinesOf(status))));
  return ExitCodeFor(status);
}

ExitCode Main(const std::vector<std::string>& args) {
  const absl::StatusOr<CommandLine> line =
      ParseCommandLine(args, ReadEnvironment());
  if (!line.ok()) {
    const bool json =
        std::find(args.begin(), args.end(), "--json") != args.end();
    return Fail(line.status(), /*server=*/"",
                json ? ErrorAs::kJson : ErrorAs::kNothing);
  }
  if (IsText(line->command)) {
    if (Write(stdout, line->text)) return ExitCode::kPass;
    return Fail(OutputLost(), /*server=*/"", ErrorAs::kNothing);
  }
  if (line->command == Command::kLsp) {
    const absl::StatusOr<int> code = RunLanguageServer(*line);
    if (code.ok()) return static_cast<ExitCode>(*code);
    return Fail(code.status(), line->server, ErrorAs::kNothing);
  }
  InstallInterruptHandlers(ProgressStyleOf(*line) == ProgressStyle::kLive);
  bool printed = false;
  const absl::Status status = RunCommand(*line, printed);
  if (status.ok()) return ExitCode::kPass;
  ErrorAs as = ErrorAs::kNothing;
  if (line->json && line->follow) {
    as = ErrorAs::kJsonLine;
  } else if (line->json && !printed) {
    as = ErrorAs::kJson;  // One document on the standard output, never two.
  }
  const ExitCode code = Fail(status, line->server, as);
  return code == ExitCode::kInterrupted
             ? static_cast<ExitCode>(InterruptedExitCode())
             : code;
}

}  // namespace
}  // namespace edgekiln::client

int main(int argc, char** argv) {
  edgekiln::KeepFreedMemory();
  const std::vector<std::string> args(argv + 1, argv + std::max(argc, 1));
  return static_cast<int>(edgekiln::client::Main(args));
}
