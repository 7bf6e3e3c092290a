#include "tests/chaos/farm.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "base/status_macros.h"

namespace edgekiln::chaos {
namespace {

constexpr absl::Duration kPoll = absl::Milliseconds(2);
// Generous: sanitizers and a busy machine.
constexpr absl::Duration kStartLimit = absl::Seconds(60);
constexpr absl::Duration kStopLimit = absl::Seconds(30);
constexpr int kExecFailed = 127;
constexpr char kDropLibrary[] = "libchaos_drop_unsynced.so";
// In the log of a worker that the daemon has taken.
constexpr char kWorkerConnected[] = "connected to ";

std::string TextOf(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

absl::string_view LastLine(absl::string_view text) {
  text = absl::StripTrailingAsciiWhitespace(text);
  return text.substr(text.rfind('\n') + 1);
}

}  // namespace

Scratch::Scratch() {
  path_ = (std::filesystem::temp_directory_path() / "ekc-XXXXXX").string();
  if (mkdtemp(path_.data()) == nullptr) std::abort();
}

Scratch::~Scratch() {
  if (keep_) return;
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

Farm::Farm(const FarmOptions& options, const Scratch& scratch)
    : options_(options), scratch_(scratch), workers_(options.workers) {
  const bool tcp = options.listening == Listening::kTcp;
  address_ = tcp ? "127.0.0.1:0" : "unix:" + scratch_.At("clients.sock");
  workers_address_ =
      tcp ? "127.0.0.1:0" : "unix:" + scratch_.At("workers.sock");
}

absl::StatusOr<std::unique_ptr<Farm>> Farm::Start(const FarmOptions& options,
                                                  const Scratch& scratch) {
  std::unique_ptr<Farm> farm(new Farm(options, scratch));
  if (options.drop_unsynced) {
    // It watches what lies beside it.
    std::error_code error;
    std::filesystem::create_symlink(
        std::filesystem::absolute(options.bin) / kDropLibrary,
        scratch.At(kDropLibrary), error);
    if (error) return absl::UnavailableError(error.message());
  }
  EK_RETURN_IF_ERROR(farm->StartDaemon().status());
  for (int i = 0; i < options.workers; ++i) {
    EK_RETURN_IF_ERROR(farm->StartWorker(i));
  }
  EK_RETURN_IF_ERROR(farm->AwaitWorkers());
  return farm;
}

Farm::~Farm() {
  for (pid_t& worker : workers_) Kill(worker);
  Kill(daemon_);
}

absl::StatusOr<pid_t> Farm::Spawn(const std::vector<std::string>& command,
                                  const std::string& log,
                                  const std::string& preload,
                                  int max_descriptors) {
  if (access(command[0].c_str(), X_OK) != 0) {
    return absl::UnavailableError(absl::StrCat("no program ", command[0]));
  }
  std::vector<char*> arguments;
  arguments.reserve(command.size() + 1);
  for (const std::string& argument : command) {
    arguments.push_back(const_cast<char*>(argument.c_str()));
  }
  arguments.push_back(nullptr);
  std::string variable = "LD_PRELOAD=" + preload;
  std::vector<char*> environment;
  if (!preload.empty()) environment.push_back(variable.data());
  for (char** entry = environ; *entry != nullptr; ++entry) {
    environment.push_back(*entry);
  }
  environment.push_back(nullptr);
  const std::string path = scratch_.At(log);
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) return absl::UnavailableError("cannot fork");
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(kExecFailed);
    const int null = open("/dev/null", O_RDWR);
    const int out = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (null < 0 || out < 0) _exit(kExecFailed);
    dup2(null, STDIN_FILENO);
    dup2(out, STDOUT_FILENO);
    dup2(out, STDERR_FILENO);
    close_range(3, ~0U, 0);
    if (max_descriptors > 0) {
      const auto bound = static_cast<rlim_t>(max_descriptors);
      const rlimit limit = {bound, bound};
      if (setrlimit(RLIMIT_NOFILE, &limit) != 0) _exit(kExecFailed);
    }
    execve(arguments[0], arguments.data(), environment.data());
    _exit(kExecFailed);
  }
  return pid;
}

void Farm::Kill(pid_t& pid) {
  if (pid == 0) return;
  kill(pid, SIGKILL);
  waitpid(pid, nullptr, 0);
  pid = 0;
}

absl::Status Farm::KillDaemon() {
  const int pid = std::exchange(daemon_, 0);
  const pid_t ended = waitpid(pid, nullptr, WNOHANG);
  if (ended == pid) {
    return absl::UnavailableError("edgekilnd ended by itself; see daemon.log");
  }
  pid_t left = pid;
  Kill(left);
  if (!options_.drop_unsynced) return absl::OkStatus();
  // Killed before it began, it has changed nothing.
  if (!std::filesystem::exists(scratch_.At(kShadowFolder))) {
    return absl::OkStatus();
  }
  EK_ASSIGN_OR_RETURN(const Dropped dropped, DropUnsynced(scratch_.path()));
  dropped_.names += dropped.names;
  dropped_.contents += dropped.contents;
  dropped_.revived += dropped.revived;
  return absl::OkStatus();
}

void Farm::KillWorker(int worker) { Kill(workers_.at(worker)); }

absl::Status Farm::KillStartingDaemon(absl::Duration after) {
  EK_RETURN_IF_ERROR(SpawnDaemon());
  absl::SleepFor(after);
  return KillDaemon();
}

absl::Status Farm::SpawnDaemon() {
  const std::string ready = scratch_.At("ready");
  std::error_code error;
  std::filesystem::remove(ready, error);
  std::vector<std::string> command = {options_.bin + "/edgekilnd",
                                      "--listen",
                                      address_,
                                      "--workers-listen",
                                      workers_address_,
                                      "--state",
                                      state_folder(),
                                      "--ready-file",
                                      ready,
                                      "--verbose"};
  if (options_.http) {
    command.insert(
        command.end(),
        {"--http", http_address_.empty() ? "127.0.0.1:0" : http_address_});
  }
  if (!options_.config.empty()) {
    const std::string config = scratch_.At("config.txtpb");
    std::ofstream(config) << options_.config;
    command.insert(command.end(), {"--config", config});
  }
  EK_ASSIGN_OR_RETURN(
      daemon_, Spawn(command, "daemon.log",
                     options_.drop_unsynced ? scratch_.At(kDropLibrary) : "",
                     options_.max_descriptors));
  return absl::OkStatus();
}

absl::StatusOr<absl::Duration> Farm::StartDaemon() {
  const std::string ready = scratch_.At("ready");
  std::error_code error;
  const absl::Time start = absl::Now();
  EK_RETURN_IF_ERROR(SpawnDaemon());
  while (!std::filesystem::exists(ready, error)) {
    if (waitpid(daemon_, nullptr, WNOHANG) == daemon_) {
      daemon_ = 0;
      return absl::UnavailableError("edgekilnd ended at once");
    }
    if (absl::Now() - start > kStartLimit) {
      return absl::UnavailableError("edgekilnd did not start in time");
    }
    absl::SleepFor(kPoll);
  }
  const absl::Duration took = absl::Now() - start;
  if (options_.drop_unsynced &&
      !std::filesystem::exists(scratch_.At(kShadowFolder))) {
    return absl::UnavailableError("nothing watches the state folder");
  }
  std::ifstream lines(ready);
  std::getline(lines, address_);
  std::getline(lines, workers_address_);
  if (options_.http) std::getline(lines, http_address_);
  return took;
}

absl::Status Farm::StartWorker(int worker) {
  std::vector<std::string> command = {
      options_.bin + "/edgekiln-worker",
      "--connect",
      workers_address_,
      "--secret-file",
      scratch_.At(kWatchedFolder) + "/worker_secret",
      "--verbose"};
  command.insert(command.end(), options_.worker_arguments.begin(),
                 options_.worker_arguments.end());
  EK_ASSIGN_OR_RETURN(
      workers_.at(worker),
      Spawn(command, absl::StrCat("worker-", worker, ".log"), ""));
  return absl::OkStatus();
}

// A worker that the daemon refuses for good, as it does one of another build,
// ends by itself.
absl::Status Farm::AwaitWorkers() {
  const absl::Time start = absl::Now();
  for (size_t i = 0; i < workers_.size(); ++i) {
    const std::string log = absl::StrCat("worker-", i, ".log");
    while (!absl::StrContains(TextOf(scratch_.At(log)), kWorkerConnected)) {
      if (waitpid(workers_[i], nullptr, WNOHANG) == workers_[i]) {
        workers_[i] = 0;
        return absl::UnavailableError(absl::StrCat(
            "edgekiln-worker ended at once: ",
            LastLine(TextOf(scratch_.At(log))), " (are all programs of ",
            options_.bin, " of one build?)"));
      }
      if (absl::Now() - start > kStartLimit) {
        return absl::UnavailableError(absl::StrCat(
            "the daemon did not take a worker in time; see ", log));
      }
      absl::SleepFor(kPoll);
    }
  }
  return absl::OkStatus();
}

absl::Status Farm::Stop() {
  std::vector<pid_t*> all;
  for (pid_t& worker : workers_) all.push_back(&worker);
  all.push_back(&daemon_);
  for (pid_t* pid : all) {
    if (*pid == 0) continue;
    kill(*pid, SIGTERM);
    const absl::Time deadline = absl::Now() + kStopLimit;
    int status = 0;
    while (waitpid(*pid, &status, WNOHANG) == 0) {
      if (absl::Now() > deadline) {
        return absl::UnavailableError("a program ignores SIGTERM");
      }
      absl::SleepFor(kPoll);
    }
    *pid = 0;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
      return absl::UnavailableError(
          absl::StrCat("a program ended SIGTERM with wait status ", status));
    }
  }
  return absl::OkStatus();
}

bool Farm::DaemonRuns() {
  if (daemon_ == 0) return false;
  if (waitpid(daemon_, nullptr, WNOHANG) != daemon_) return true;
  daemon_ = 0;
  return false;
}

std::string Farm::state_folder() const { return scratch_.At(kWatchedFolder); }

std::string Farm::blobs_folder() const { return scratch_.At("state/blobs"); }

}  // namespace edgekiln::chaos
