#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/mutex.h"
#include "server/daemon/farm/launcher.h"

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
      MutexLock lock(mutex_);
      stopping_ = true;
    }
    changed_.NotifyAll();
    if (keeper_.joinable()) keeper_.join();
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

  // From the keeper's thread only: the system ends a child when the thread that
  // made it ends, which is how workers go when we are killed.
  void Spawn(Child& child) {
    // Everything the child needs is made here: between fork and exec it may
    // not allocate, other threads may hold the allocator's locks.
    std::string program = options_.program;
    std::string connect = "--connect";
    std::string address = address_;
    // As many leases at once as there are workers.
    std::string slots = "--slots=1";
    // The system's signal below is lost if we die in the wrong moment.
    std::string with_parent = "--exit-with-parent";
    std::string secret = "--secret-file";
    std::string secret_file = options_.secret_file;
    char* const argv[] = {
        program.data(),     connect.data(), address.data(),     secret.data(),
        secret_file.data(), slots.data(),   with_parent.data(), nullptr};
    const pid_t parent = getpid();
    child.started = std::chrono::steady_clock::now();
    child.pid = fork();
    if (child.pid == 0) ExecChild(argv, parent);
    if (child.pid > 0) return;
    log_.Error("cannot start ", program, ": ", strerror(errno));
    child.pid = 0;
    child.restart_at = child.started + kMaxPause;
  }

  [[noreturn]] static void ExecChild(char* const* argv, pid_t parent) {
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    // It may have died before that.
    if (getppid() != parent) _exit(1);
    // A group of its own keeps the terminal's Ctrl-C from it: we end it.
    setpgid(0, 0);
    // We block the signals we wait for; the child must not inherit that.
    for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) {
      signal(number, SIG_DFL);
    }
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    // Locks and sockets stay ours.
    close_range(3, ~0U, 0);
    execv(argv[0], argv);
    _exit(127);
  }

  void Keep() {
    MutexLock lock(mutex_);
    while (!stopping_) {
      const Time now = std::chrono::steady_clock::now();
      for (Child& child : children_) {
        if (child.pid != 0) Reap(child, now);
        if (child.pid != 0 || now < child.restart_at) continue;
        Spawn(child);
      }
      const Time end = std::chrono::steady_clock::now() + kPoll;
      while (!stopping_ && changed_.WaitUntil(lock, end)) {
      }
    }
    EndAll();
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
  std::vector<Child> children_;  // Start(), then keeper_.
  Mutex mutex_;
  CondVar changed_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread keeper_;
};

}  // namespace

std::unique_ptr<Launcher> NewForkLauncher(ForkLauncherOptions options,
                                          Logger& log) {
  return std::make_unique<ForkLauncher>(std::move(options), log);
}

}  // namespace edgekiln::server
