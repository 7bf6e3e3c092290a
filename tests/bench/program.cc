#include "tests/bench/program.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "tests/bench/measure.h"

namespace edgekiln::bench {
namespace {

constexpr absl::Duration kPatience = absl::Seconds(5);
constexpr absl::Duration kPoll = absl::Milliseconds(10);

absl::StatusOr<pid_t> Spawn(const std::vector<std::string>& command) {
  std::vector<char*> arguments;
  for (const std::string& argument : command) {
    arguments.push_back(const_cast<char*>(argument.c_str()));
  }
  arguments.push_back(nullptr);
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) return absl::UnavailableError("cannot fork");
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(127);
    const int null = open("/dev/null", O_RDWR);
    for (const int fd : {0, 1, 2}) dup2(null, fd);
    execv(arguments[0], arguments.data());
    _exit(127);
  }
  return pid;
}

double Seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) +
         static_cast<double>(time.tv_usec) * 1e-6;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Program>> Program::Start(
    const std::vector<std::string>& command) {
  EK_ASSIGN_OR_RETURN(const pid_t pid, Spawn(command));
  return std::unique_ptr<Program>(new Program(pid));
}

Program::~Program() {
  kill(pid_, SIGTERM);
  for (absl::Duration waited; waited < kPatience; waited += kPoll) {
    if (waitpid(pid_, nullptr, WNOHANG) != 0) return;
    absl::SleepFor(kPoll);
  }
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

double Program::CpuSeconds() const {
  std::ifstream file(absl::StrCat("/proc/", pid_, "/stat"));
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  // The second field, the name, is in parentheses and may hold spaces; user
  // and system time are fields 14 and 15.
  std::istringstream rest(text.substr(text.rfind(')') + 1));
  std::string field;
  for (int i = 3; i < 14; ++i) rest >> field;
  double user = 0;
  double system = 0;
  rest >> user >> system;
  return (user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

absl::StatusOr<RunCost> RunProgram(const std::vector<std::string>& command) {
  const double start = WallSeconds();
  EK_ASSIGN_OR_RETURN(const pid_t pid, Spawn(command));
  int status = 0;
  rusage usage{};
  wait4(pid, &status, 0, &usage);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    return absl::UnavailableError(
        absl::StrCat(command[0], " failed with wait status ", status));
  }
  return RunCost{
      .wall_seconds = WallSeconds() - start,
      .cpu_seconds = Seconds(usage.ru_utime) + Seconds(usage.ru_stime)};
}

ScratchFolder::ScratchFolder() {
  path_ = (std::filesystem::temp_directory_path() / "bench-XXXXXX").string();
  if (mkdtemp(path_.data()) == nullptr) std::abort();
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

absl::StatusOr<std::unique_ptr<Daemon>> Daemon::Start(
    const std::string& bin, const ScratchFolder& scratch, int workers) {
  const std::string ready = scratch.At("ready");
  EK_ASSIGN_OR_RETURN(
      std::unique_ptr<Program> program,
      Program::Start({bin + "/edgekilnd", "--listen", "127.0.0.1:0",
                      "--workers-listen", "127.0.0.1:0", "--state",
                      scratch.At("state"), "--ready-file", ready, "--workers",
                      absl::StrCat(workers)}));
  for (int i = 0; i < 1000; ++i) {
    std::ifstream file(ready);
    std::string address;
    std::string workers_address;
    if (std::getline(file, address) && std::getline(file, workers_address)) {
      return std::unique_ptr<Daemon>(
          new Daemon(std::move(program), std::move(address)));
    }
    absl::SleepFor(kPoll);
  }
  return absl::UnavailableError("the daemon did not start");
}

}  // namespace edgekiln::bench
