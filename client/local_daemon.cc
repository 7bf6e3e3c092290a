#include "client/local_daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <system_error>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/error.h"
#include "base/file.h"
#include "base/private_folder.h"
#include "base/scoped_fd.h"
#include "base/status_macros.h"
#include "client/exit_code.h"

namespace edgekiln::client {
namespace {

constexpr absl::Duration kPollEvery = absl::Milliseconds(10);
// Between attempts to start one, while another ends or comes up.
constexpr absl::Duration kSpawnPause = absl::Milliseconds(100);
// A daemon that fails so often in a row will fail again.
constexpr int kMaxFailures = 3;
// Of the daemon's log: enough for its last words.
constexpr int64_t kMaxLogBytes = 1 << 20;

absl::Status Unreachable(absl::string_view what, absl::string_view where,
                         absl::string_view fix) {
  return MakeError(absl::StatusCode::kUnavailable,
                   {.fault = Fault::kInfra,
                    .reason = kReasonUnreachable,
                    .what = std::string(what),
                    .where = std::string(where),
                    .fix = std::string(fix)});
}

enum class Probe { kListening, kAbsent };

// Whether somebody accepts on the socket, and whether it is us. `pid` is
// set for kListening.
absl::StatusOr<Probe> ProbeSocket(const std::string& path, pid_t& pid) {
  sockaddr_un address = {};
  if (path.size() >= sizeof(address.sun_path)) {
    return Unreachable(
        "the socket's path is too long", path,
        absl::StrCat("set XDG_RUNTIME_DIR to a shorter path; at most ",
                     sizeof(address.sun_path) - 1, " bytes fit"));
  }
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, path.size());
  const ScopedFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (fd.get() < 0) {
    return Unreachable("no socket could be opened",
                       absl::StrCat(path, ": ", strerror(errno)),
                       "raise the limit of open files (ulimit -n)");
  }
  if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&address),
              sizeof(address)) != 0) {
    return Probe::kAbsent;
  }
  ucred peer = {};
  socklen_t size = sizeof(peer);
  if (getsockopt(fd.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 ||
      peer.uid != geteuid()) {
    return MakeError(absl::StatusCode::kPermissionDenied,
                     {.fault = Fault::kInfra,
                      .reason = "RUNTIME_FOLDER_UNSAFE",
                      .what = "the daemon on the socket is not yours",
                      .where = path,
                      .need = "a daemon of your own",
                      .fix = "remove it, or set XDG_RUNTIME_DIR to a folder of "
                             "your own"});
  }
  pid = peer.pid;
  return Probe::kListening;
}

// Whether the process runs a file that has since been replaced at the place
// where `program` is.
bool IsOutdated(pid_t pid, const std::string& program) {
  char link[PATH_MAX];
  const ssize_t length =
      readlink(absl::StrCat("/proc/", pid, "/exe").c_str(), link, sizeof(link));
  if (length <= 0 || length == static_cast<ssize_t>(sizeof(link))) return false;
  const absl::string_view target(link, length);
  // Linkers and installers rename: only the folder is sure to be the same.
  return absl::EndsWith(target, " (deleted)") &&
         ParentPath(target) == ParentPath(program);
}

// Whether the process holds the lock of a cache folder that somebody has
// removed: what it still has is in nobody's reach, and it can store no more.
bool HasLostItsFolder(pid_t pid) {
  std::error_code error;
  const std::filesystem::directory_iterator descriptors(
      absl::StrCat("/proc/", pid, "/fd"), error);
  for (auto at = begin(descriptors); !error && at != end(descriptors);
       at.increment(error)) {
    std::error_code unreadable;
    const std::string target =
        std::filesystem::read_symlink(at->path(), unreadable).string();
    if (absl::EndsWith(target, "/edgekiln/lock (deleted)")) return true;
  }
  return false;
}

bool MustLeave(pid_t pid, const std::string& program) {
  return IsOutdated(pid, program) || HasLostItsFolder(pid);
}

// Asks a daemon that must leave to do so and waits for it.
absl::Status Retire(pid_t pid, const std::string& socket_path,
                    const LocalDaemonOptions& options, Clock& clock) {
  const absl::Duration give_up = clock.Monotonic() + options.patience;
  kill(pid, SIGTERM);
  // A zombie, should it be our own child, has no file and counts as gone.
  while (MustLeave(pid, options.program)) {
    if (clock.Monotonic() >= give_up) {
      return Unreachable("an outdated edgekilnd does not leave",
                         absl::StrCat("process ", pid, " on ", socket_path),
                         absl::StrCat("end it: kill -9 ", pid));
    }
    clock.SleepFor(kPollEvery);
  }
  return absl::OkStatus();
}

// Starts the daemon in a session of its own, so that Ctrl-C does not reach it.
absl::StatusOr<pid_t> Spawn(const std::string& program,
                            const std::string& log) {
  if (access(program.c_str(), X_OK) != 0) {
    return Unreachable("edgekilnd is missing", program,
                       "install edgekilnd and edgekiln-worker beside edgekiln, "
                       "or use --server ADDRESS");
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, log.c_str(),
                                   O_WRONLY | O_CREAT | O_APPEND, 0600);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  posix_spawn_file_actions_addclosefrom_np(&actions, 3);
  // The folder we were started in must not be kept from being unmounted.
  posix_spawn_file_actions_addchdir_np(&actions, "/");
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  sigset_t defaults;
  sigemptyset(&defaults);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) {
    sigaddset(&defaults, signal);
  }
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID |
                                            POSIX_SPAWN_SETSIGMASK |
                                            POSIX_SPAWN_SETSIGDEF);
  std::string name = program;
  char local[] = "--local";
  char* const argv[] = {name.data(), local, nullptr};
  pid_t pid = 0;
  const int error =
      posix_spawn(&pid, program.c_str(), &actions, &attributes, argv, environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    return Unreachable("edgekilnd could not be started",
                       absl::StrCat(program, ": ", strerror(error)),
                       "install edgekilnd again, or use --server");
  }
  return pid;
}

// The last line of the log that says something.
std::string LastWords(const std::string& log) {
  const std::unique_ptr<FileSystem> files = NewPosixFileSystem();
  const absl::StatusOr<std::string> text = files->Read(log, kMaxLogBytes);
  if (!text.ok()) return "";
  std::string last;
  for (const absl::string_view line : absl::StrSplit(*text, '\n')) {
    if (!absl::StripAsciiWhitespace(line).empty()) last = std::string(line);
  }
  return last;
}

// Each start begins a log that does not grow for ever.
void TrimLog(const std::string& log) {
  struct stat info;
  if (stat(log.c_str(), &info) == 0 && info.st_size > kMaxLogBytes / 2) {
    unlink(log.c_str());
  }
}

absl::Status DidNotStart(absl::string_view what, const std::string& log) {
  const std::string last = LastWords(log);
  return Unreachable(
      what, last.empty() ? absl::StrCat("its log ", log, " is empty") : last,
      absl::StrCat("read ", log,
                   ", or run edgekilnd --local in a terminal to see why"));
}

// Keeps one attempt to start a daemon going. One that finds the lock held ends
// with exit code 0: its holder is coming up, and will listen, or going down,
// and will let go.
class Starter {
 public:
  Starter(const LocalDaemonOptions& options, Clock& clock)
      : options_(options),
        clock_(clock),
        log_(JoinPath(options.runtime_folder, "edgekilnd.log")) {}

  // Starts a daemon unless one of ours is still on its way. An error once there
  // is no hope.
  absl::Status Poll() {
    int status = 0;
    if (pid_ != 0) {
      if (waitpid(pid_, &status, WNOHANG) != pid_) return absl::OkStatus();
      pid_ = 0;
      next_ = clock_.Monotonic() + kSpawnPause;
      locked_ = WIFEXITED(status) && WEXITSTATUS(status) == 0;
      failures_ = locked_ ? 0 : failures_ + 1;
      if (failures_ >= kMaxFailures) {
        return DidNotStart("edgekilnd --local ended at once", log_);
      }
    }
    if (clock_.Monotonic() < next_) return absl::OkStatus();
    TrimLog(log_);
    EK_ASSIGN_OR_RETURN(pid_, Spawn(options_.program, log_));
    return absl::OkStatus();
  }

  // Why it took too long.
  absl::Status Verdict() const {
    const std::string patience = absl::FormatDuration(options_.patience);
    if (locked_) {
      const std::string lock =
          JoinPath(options_.runtime_folder, "edgekilnd.lock");
      return Unreachable(
          absl::StrCat("another edgekilnd --local holds the lock and did not "
                       "listen within ",
                       patience),
          lock,
          absl::StrCat("wait until it has ended, or end it: fuser -k ", lock));
    }
    return DidNotStart(
        absl::StrCat("edgekilnd --local did not listen on ",
                     LocalSocketPath(options_), " within ", patience),
        log_);
  }

 private:
  const LocalDaemonOptions& options_;
  Clock& clock_;
  const std::string log_;
  pid_t pid_ = 0;        // Of the attempt under way; 0 if there is none.
  absl::Duration next_;  // When to start the next, if pid_ is 0.
  int failures_ = 0;     // In a row.
  bool locked_ = false;  // Whether the last attempt found the lock held.
};

}  // namespace

absl::StatusOr<LocalDaemonOptions> DefaultLocalDaemon() {
  LocalDaemonOptions options;
  const char* runtime = getenv("XDG_RUNTIME_DIR");
  if (runtime != nullptr && runtime[0] == '/') {
    options.runtime_folder = JoinPath(runtime, "edgekiln");
  } else {
    options.runtime_folder = absl::StrCat("/tmp/edgekiln-", geteuid());
  }
  char self[PATH_MAX];
  const ssize_t length = readlink("/proc/self/exe", self, sizeof(self));
  if (length <= 0 || length == static_cast<ssize_t>(sizeof(self))) {
    return Unreachable("the path of this program is unknown", "/proc/self/exe",
                       "use --server ADDRESS");
  }
  options.program =
      JoinPath(ParentPath(absl::string_view(self, length)), "edgekilnd");
  return options;
}

std::string LocalSocketPath(const LocalDaemonOptions& options) {
  return JoinPath(options.runtime_folder, "edgekilnd.sock");
}

std::string FindServiceSocket(const LocalDaemonOptions& options) {
  const std::string path = JoinPath(options.runtime_folder, "service.sock");
  pid_t peer = 0;
  const absl::StatusOr<Probe> probe = ProbeSocket(path, peer);
  return probe.ok() && *probe == Probe::kListening ? path : "";
}

absl::Status EnsureLocalDaemon(const LocalDaemonOptions& options,
                               Clock& clock) {
  EK_RETURN_IF_ERROR(MakePrivateFolder(options.runtime_folder));
  const std::string socket_path = LocalSocketPath(options);
  const absl::Duration give_up = clock.Monotonic() + options.patience;
  Starter starter(options, clock);
  while (true) {
    pid_t peer = 0;
    EK_ASSIGN_OR_RETURN(const Probe probe, ProbeSocket(socket_path, peer));
    if (probe == Probe::kAbsent) {
      EK_RETURN_IF_ERROR(starter.Poll());
    } else if (!MustLeave(peer, options.program)) {
      return absl::OkStatus();
    } else {
      EK_RETURN_IF_ERROR(Retire(peer, socket_path, options, clock));
    }
    if (clock.Monotonic() >= give_up) return starter.Verdict();
    clock.SleepFor(kPollEvery);
  }
}

}  // namespace edgekiln::client
