#include "server/worker/run_program.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/error.h"
#include "base/scoped_fd.h"
#include "base/status_macros.h"

namespace edgekiln::server {
namespace {

absl::Status NotStarted(absl::string_view call, int error,
                        const std::string& program) {
  return MakeError(absl::StatusCode::kUnavailable,
                   {.fault = Fault::kInfra,
                    .reason = "WORKER_NO_PROCESS",
                    .what = absl::StrCat("a worker could not start a program: ",
                                         call, ": ", strerror(error)),
                    .where = program});
}

absl::Duration Now() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return absl::DurationFromTimespec(now);
}

std::vector<char*> Pointers(const std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  pointers.reserve(strings.size() + 1);
  for (const std::string& string : strings) {
    pointers.push_back(const_cast<char*>(string.c_str()));
  }
  pointers.push_back(nullptr);
  return pointers;
}

struct Pipe {
  ScopedFd read;
  ScopedFd write;
};

absl::StatusOr<Pipe> NewPipe(const std::string& program) {
  int ends[2] = {-1, -1};
  if (pipe2(ends, O_CLOEXEC) != 0) return NotStarted("pipe2", errno, program);
  Pipe pipe = {ScopedFd(ends[0]), ScopedFd(ends[1])};
  // What a grandchild holds open must not keep us.
  fcntl(pipe.read.get(), F_SETFL, O_NONBLOCK);
  return pipe;
}

// Takes what there is; false at the end.
bool Drain(int fd, int64_t max_bytes, std::string& text) {
  char buffer[4096];
  while (true) {
    const ssize_t size = read(fd, buffer, sizeof(buffer));
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return errno == EAGAIN;
    if (size == 0) return false;
    const int64_t room = max_bytes - static_cast<int64_t>(text.size());
    text.append(buffer,
                static_cast<size_t>(std::clamp<int64_t>(room, 0, size)));
  }
}

class Spawner {
 public:
  Spawner() {
    posix_spawn_file_actions_init(&actions_);
    posix_spawnattr_init(&attributes_);
  }
  ~Spawner() {
    posix_spawnattr_destroy(&attributes_);
    posix_spawn_file_actions_destroy(&actions_);
  }
  Spawner(const Spawner&) = delete;
  Spawner& operator=(const Spawner&) = delete;

  // Returns an error number.
  int Spawn(const ProgramRun& run, int output, int errors, bool own_group,
            pid_t& pid) {
    posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null",
                                     O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions_, output, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions_, errors, STDERR_FILENO);
    posix_spawn_file_actions_addclosefrom_np(&actions_, STDERR_FILENO + 1);
    posix_spawn_file_actions_addchdir_np(&actions_, run.folder.c_str());
    // What we block or ignore is not the program's.
    sigset_t signals;
    sigemptyset(&signals);
    posix_spawnattr_setsigmask(&attributes_, &signals);
    sigaddset(&signals, SIGPIPE);
    sigaddset(&signals, SIGXFSZ);
    posix_spawnattr_setsigdefault(&attributes_, &signals);
    posix_spawnattr_setpgroup(&attributes_, 0);
    posix_spawnattr_setflags(
        &attributes_,
        static_cast<int16_t>(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
                             (own_group ? POSIX_SPAWN_SETPGROUP : 0)));
    std::vector<std::string> arguments = {run.program};
    arguments.insert(arguments.end(), run.arguments.begin(),
                     run.arguments.end());
    return posix_spawn(&pid, run.program.c_str(), &actions_, &attributes_,
                       Pointers(arguments).data(),
                       Pointers(run.environment).data());
  }

 private:
  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
};

// Milliseconds for poll(): rounded up, so that it does not spin.
int PollTimeout(absl::Duration left) {
  if (left == absl::InfiniteDuration()) return -1;
  return static_cast<int>(
      std::clamp<int64_t>(absl::ToInt64Milliseconds(left) + 1, 0, 1 << 30));
}

}  // namespace

absl::StatusOr<ProgramEnd> RunProgram(const ProgramRun& run) {
  EK_ASSIGN_OR_RETURN(Pipe output, NewPipe(run.program));
  EK_ASSIGN_OR_RETURN(Pipe errors, NewPipe(run.program));
  const bool own_group =
      run.time_limit != absl::InfiniteDuration() && !run.in_callers_group;
  pid_t pid = 0;
  const int error = Spawner().Spawn(run, output.write.get(), errors.write.get(),
                                    own_group, pid);
  if (error != 0) return NotStarted("posix_spawn", error, run.program);
  output.write.reset();
  errors.write.reset();
  ProgramEnd end;
  const ScopedFd process(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  if (!process.valid()) {
    const int reason = errno;
    kill(own_group ? -pid : pid, SIGKILL);
    waitpid(pid, nullptr, 0);
    return NotStarted("pidfd_open", reason, run.program);
  }
  // poll() passes over descriptors below 0.
  pollfd polled[] = {{process.get(), POLLIN, 0},
                     {output.read.get(), POLLIN, 0},
                     {errors.read.get(), POLLIN, 0}};
  const absl::Duration deadline = Now() + run.time_limit;
  while (polled[0].revents == 0) {
    const absl::Duration left = deadline - Now();
    end.timed_out = left <= absl::ZeroDuration();
    if (end.timed_out) break;
    if (poll(polled, std::size(polled), PollTimeout(left)) < 0 &&
        errno != EINTR) {
      break;
    }
    if (polled[1].revents != 0 &&
        !Drain(polled[1].fd, run.max_output_bytes, end.output)) {
      polled[1].fd = -1;
    }
    if (polled[2].revents != 0 &&
        !Drain(polled[2].fd, run.max_output_bytes, end.errors)) {
      polled[2].fd = -1;
    }
  }
  if (end.timed_out && run.in_callers_group) return end;
  // Its number is not given away before it is waited for.
  if (own_group) kill(-pid, SIGKILL);
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  Drain(output.read.get(), run.max_output_bytes, end.output);
  Drain(errors.read.get(), run.max_output_bytes, end.errors);
  if (WIFSIGNALED(status)) {
    end.signal = WTERMSIG(status);
  } else {
    end.exit_code = WEXITSTATUS(status);
  }
  return end;
}

std::string EndText(const ProgramEnd& end, const ProgramRun& run) {
  if (end.timed_out) {
    return absl::StrCat("more than ", absl::FormatDuration(run.time_limit));
  }
  if (end.signal != 0) {
    return absl::StrCat("signal ", end.signal, " (", strsignal(end.signal),
                        ")");
  }
  return absl::StrCat("exit code ", end.exit_code);
}

std::optional<std::string> FindProgram(absl::string_view name,
                                       absl::string_view path) {
  for (const absl::string_view folder : absl::StrSplit(path, ':')) {
    if (!absl::StartsWith(folder, "/")) continue;
    std::string file = absl::StrCat(folder, "/", name);
    struct stat info = {};
    if (stat(file.c_str(), &info) == 0 && S_ISREG(info.st_mode) &&
        access(file.c_str(), X_OK) == 0) {
      return file;
    }
  }
  return std::nullopt;
}

std::string SearchPath() {
  const char* const path = getenv("PATH");
  return path != nullptr ? path : "/usr/local/bin:/usr/bin:/bin";
}

}  // namespace edgekiln::server
