#include "tests/chaos/attack_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <iostream>
#include <system_error>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

namespace edgekiln::chaos {
namespace {

constexpr int kExecFailed = 127;

std::string TallyPath(const AttackTarget& target) {
  return target.folder + "/tally";
}

// The tally in the file, which is made if need be. Null if that fails.
Tally* MapTally(const std::string& path) {
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) return nullptr;
  void* memory = MAP_FAILED;
  if (ftruncate(fd, sizeof(Tally)) == 0) {
    memory =
        mmap(nullptr, sizeof(Tally), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  }
  close(fd);
  // Zeros are a tally of nothing.
  return memory == MAP_FAILED ? nullptr : static_cast<Tally*>(memory);
}

}  // namespace

absl::StatusOr<std::unique_ptr<AttackProcess>> AttackProcess::Start(
    const Attacker& attacker, const AttackTarget& target) {
  std::error_code error;
  std::filesystem::create_directories(target.folder, error);
  std::unique_ptr<AttackProcess> made(new AttackProcess(attacker));
  made->tally_ = MapTally(TallyPath(target));
  if (made->tally_ == nullptr) {
    return absl::UnavailableError(
        absl::StrCat("cannot write ", TallyPath(target)));
  }
  std::vector<std::string> command = {"chaos_attack",
                                      "attack",
                                      std::string(attacker.name),
                                      "--address",
                                      target.address,
                                      "--workers-address",
                                      target.workers_address,
                                      "--http-address",
                                      target.http_address,
                                      "--folder",
                                      target.folder,
                                      "--seed",
                                      absl::StrCat(target.seed)};
  std::vector<char*> arguments;
  for (std::string& argument : command) arguments.push_back(argument.data());
  arguments.push_back(nullptr);
  const std::string log = target.folder + "/log";
  const pid_t parent = getpid();
  made->process_ = fork();
  if (made->process_ < 0) {
    made->process_ = 0;
    return absl::UnavailableError("cannot fork");
  }
  if (made->process_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(kExecFailed);
    const int out = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (out < 0) _exit(kExecFailed);
    dup2(out, STDOUT_FILENO);
    dup2(out, STDERR_FILENO);
    close_range(3, ~0U, 0);
    execv("/proc/self/exe", arguments.data());
    _exit(kExecFailed);
  }
  return made;
}

AttackProcess::~AttackProcess() {
  Kill();
  if (tally_ != nullptr) munmap(tally_, sizeof(Tally));
}

bool AttackProcess::Runs() {
  if (process_ == 0) return false;
  if (waitpid(process_, nullptr, WNOHANG) != process_) return true;
  process_ = 0;
  return false;
}

void AttackProcess::Kill() {
  if (process_ == 0) return;
  kill(process_, SIGKILL);
  waitpid(process_, nullptr, 0);
  process_ = 0;
}

int RunAttackProcess(const Attacker& attacker, const AttackTarget& target) {
  signal(SIGPIPE, SIG_IGN);
  // It takes from others, not from itself.
  rlimit limit = {};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  // It has a machine of its own: its computing goes after all of the farm's.
  setpriority(PRIO_PROCESS, 0, 19);
  Tally* tally = MapTally(TallyPath(target));
  if (tally == nullptr) {
    std::cerr << "no tally in " << target.folder << "\n";
    return 1;
  }
  Attack attack(target, *tally);
  attacker.run(attack);
  return 0;
}

}  // namespace edgekiln::chaos
