#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "server/daemon/launcher.h"

namespace edgekiln::server {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kPoll{50};
constexpr milliseconds kFirstPause{0};
constexpr milliseconds kMaxPause{10'000};
// A worker that lived so long did not die of its start.
constexpr std::chrono::seconds kHealthyLife{10};
// Between asking workers to end and ending them.
constexpr milliseconds kTermGrace{1000};

class ForkLauncher : public Launcher {
 public:
  ForkLauncher(ForkLauncherOptions options, Logger& log)
      : options_(std::move(options)), log_(log) {}

  ~ForkLauncher() override {
    {
      std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    changed_.notify_all();
    if (keeper_.joinable()) keeper_.join();
    EndAll();
  }

  absl::Status Start(int count, const std::string& address) override {
    if (access(options_.program.c_str(), X_OK) != 0) {
      return MakeError(absl::StatusCode::kNotFound,
                       {.fault = Fault::kInfra,
                        .reason = "WORKER_MISSING",
                        .what = "edgekiln-worker is missing",
                        .where = options_.program,
                        .fix = "install it beside edgekilnd"});
    }
    address_ = address;
    children_.resize(count);
    for (Child& child : children_) EK_RETURN_IF_ERROR(Spawn(child));
    keeper_ = std::thread([this] { Keep(); });
    return absl::OkStatus();
  }

 private:
  using Time = std::chrono::steady_clock::time_point;
  struct Child {
    pid_t pid = 0;  // 0: not running.
    Time started;
    Time restart_at;
    milliseconds pause = kFirstPause;
  };

  absl::Status Spawn(Child& child) {
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    // We block the signals we wait for; children must not inherit that. A group
    // of their own keeps the terminal's Ctrl-C from them: we end them.
    sigset_t none;
    sigemptyset(&none);
    sigset_t defaults;
    sigemptyset(&defaults);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) {
      sigaddset(&defaults, signal);
    }
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &defaults);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK |
                                              POSIX_SPAWN_SETSIGDEF |
                                              POSIX_SPAWN_SETPGROUP);
    // The state folder's lock and our sockets stay ours.
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addclosefrom_np(&actions, 3);
    std::string program = options_.program;
    std::string connect = "--connect";
    char* const argv[] = {program.data(), connect.data(), address_.data(),
                          nullptr};
    const int error = posix_spawn(&child.pid, program.c_str(), &actions,
                                  &attributes, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    child.started = std::chrono::steady_clock::now();
    if (error == 0) return absl::OkStatus();
    child.pid = 0;
    return MakeError(absl::StatusCode::kUnavailable,
                     {.fault = Fault::kInfra,
                      .reason = "WORKER_START",
                      .what = absl::StrCat("edgekiln-worker did not start: ",
                                           strerror(error)),
                      .where = options_.program});
  }

  void Keep() {
    std::unique_lock lock(mutex_);
    while (!stopping_) {
      changed_.wait_for(lock, kPoll, [&] { return stopping_; });
      const Time now = std::chrono::steady_clock::now();
      for (Child& child : children_) {
        if (stopping_) return;
        if (child.pid != 0) Reap(child, now);
        if (child.pid != 0 || now < child.restart_at) continue;
        if (const absl::Status spawned = Spawn(child); !spawned.ok()) {
          log_.Error(spawned.message());
          child.restart_at = now + kMaxPause;
        }
      }
    }
  }

  void Reap(Child& child, Time now) {
    int status = 0;
    if (waitpid(child.pid, &status, WNOHANG) != child.pid) return;
    log_.Warning("worker process ", child.pid, " ended with ",
                 WIFSIGNALED(status)
                     ? absl::StrCat("signal ", WTERMSIG(status))
                     : absl::StrCat("exit code ", WEXITSTATUS(status)));
    if (now - child.started > kHealthyLife) child.pause = kFirstPause;
    child.restart_at = now + child.pause;
    child.pause = std::clamp(child.pause * 2, milliseconds(100), kMaxPause);
    child.pid = 0;
  }

  void EndAll() {
    for (const Child& child : children_) {
      if (child.pid != 0) kill(child.pid, SIGTERM);
    }
    const Time deadline = std::chrono::steady_clock::now() + kTermGrace;
    for (Child& child : children_) {
      while (child.pid != 0) {
        if (waitpid(child.pid, nullptr, WNOHANG) != 0) break;
        if (std::chrono::steady_clock::now() > deadline) {
          kill(child.pid, SIGKILL);
          waitpid(child.pid, nullptr, 0);
          break;
        }
        std::this_thread::sleep_for(milliseconds(5));
      }
    }
  }

  const ForkLauncherOptions options_;
  Logger& log_;
  std::string address_;          // Set by Start() only.
  std::vector<Child> children_;  // Start(), then keeper_, then destructor.
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;  // Guarded by mutex_.
  std::thread keeper_;
};

}  // namespace

std::unique_ptr<Launcher> NewForkLauncher(ForkLauncherOptions options,
                                          Logger& log) {
  return std::make_unique<ForkLauncher>(std::move(options), log);
}

}  // namespace edgekiln::server
