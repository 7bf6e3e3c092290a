#include "tests/e2e/process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gtest/gtest.h"

namespace edgekiln::tests {
namespace {

constexpr absl::Duration kPoll = absl::Milliseconds(5);
// What the child exits with if the program cannot be executed.
constexpr int kExecFailed = 127;

std::vector<std::string> EnvironmentOf(const ProcessOptions& options) {
  std::vector<std::string> out;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    if (options.environment.count(text.substr(0, text.find('='))) == 0) {
      out.push_back(text);
    }
  }
  for (const auto& [name, value] : options.environment) {
    out.push_back(absl::StrCat(name, "=", value));
  }
  return out;
}

std::vector<char*> Pointers(std::vector<std::string>& strings) {
  std::vector<char*> out;
  for (std::string& text : strings) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

// Between fork and exec: nothing that allocates.
[[noreturn]] void Become(const char* program, char* const* arguments,
                         char* const* environment, const char* out,
                         const char* err, int max_open_files, pid_t parent) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(kExecFailed);
  const int null_fd = open("/dev/null", O_RDONLY);
  const int out_fd = open(out, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  const int err_fd = open(err, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (null_fd < 0 || out_fd < 0 || err_fd < 0) _exit(kExecFailed);
  dup2(null_fd, STDIN_FILENO);
  dup2(out_fd, STDOUT_FILENO);
  dup2(err_fd, STDERR_FILENO);
  for (int fd = 3; fd < 256; ++fd) close(fd);
  if (max_open_files > 0) {
    const rlimit limit = {.rlim_cur = static_cast<rlim_t>(max_open_files),
                          .rlim_max = static_cast<rlim_t>(max_open_files)};
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0) _exit(kExecFailed);
  }
  execve(program, arguments, environment);
  _exit(kExecFailed);
}

}  // namespace

std::unique_ptr<Process> Process::Start(const ProcessOptions& options) {
  std::vector<std::string> arguments = {options.program};
  arguments.insert(arguments.end(), options.arguments.begin(),
                   options.arguments.end());
  std::vector<std::string> environment = EnvironmentOf(options);
  const std::vector<char*> argv = Pointers(arguments);
  const std::vector<char*> envp = Pointers(environment);
  if (access(options.program.c_str(), X_OK) != 0) {
    ADD_FAILURE() << options.program << ": " << strerror(errno);
    return nullptr;
  }
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid == 0) {
    Become(options.program.c_str(), argv.data(), envp.data(),
           options.stdout_path.c_str(), options.stderr_path.c_str(),
           options.max_open_files, parent);
  }
  if (pid < 0) {
    ADD_FAILURE() << "fork: " << strerror(errno);
    return nullptr;
  }
  // Also here, so that the group exists before anyone signals it.
  setpgid(pid, pid);
  return std::unique_ptr<Process>(new Process(pid));
}

Process::~Process() {
  kill(-pid_, SIGKILL);
  if (!status_.has_value()) waitpid(pid_, nullptr, 0);
}

std::optional<int> Process::WaitFor(absl::Duration limit) {
  const absl::Time deadline = absl::Now() + limit;
  while (!status_.has_value()) {
    int status = 0;
    if (waitpid(pid_, &status, WNOHANG) == pid_) {
      status_ = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
      break;
    }
    if (absl::Now() >= deadline) break;
    absl::SleepFor(kPoll);
  }
  return status_;
}

void Process::Signal(int signal_number) {
  if (!status_.has_value()) kill(pid_, signal_number);
}

}  // namespace edgekiln::tests
