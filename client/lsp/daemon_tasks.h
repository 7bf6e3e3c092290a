#ifndef EK_CLIENT_LSP_DAEMON_TASKS_H_
#define EK_CLIENT_LSP_DAEMON_TASKS_H_

// What the threads of a daemon client have to do: of each file the newest only.

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>

#include "absl/time/time.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "client/lsp/daemon.h"

namespace edgekiln::client::lsp {

struct CheckTask {
  enum class Kind { kCheck, kList, kLookUp, kProbe };
  Kind kind = Kind::kProbe;
  std::string name{};  // URI of a file, or name of a target.
  int64_t version = 0;
  std::string text{};
};

// Runs that begin within this time of each other are one too many: typing fast
// would start more than anyone can read.
inline constexpr absl::Duration kRunEvery = absl::Milliseconds(25);
// Between looks whether a daemon answers again.
inline constexpr absl::Duration kProbeEvery = absl::Seconds(1);

// Thread-safe.
class DaemonTasks final : public Daemon {
 public:
  explicit DaemonTasks(Clock& clock) : clock_(clock) {}

  void Check(const std::string& uri, int64_t version,
             const std::string& text) override;
  void Run(RunRequest request) override;
  void Forget(const std::string& uri) override;
  void List() override;
  void LookUp(const std::string& target) override;

  // Ends both threads: NextCheck() and NextRun() have nothing more.
  void Stop();
  bool stopping() const;

  // Waits for something to do; after SetProbing(true), for kProbeEvery at most.
  std::optional<CheckTask> NextCheck();
  // The daemon is away: what was asked of it is dropped.
  void SetProbing(bool probing);
  // Looks at once whether it is.
  void Probe();

  // Waits for a run; it is the current one until the next call.
  std::optional<RunRequest> NextRun();
  enum class RunFate { kWanted, kSuperseded, kForgotten };
  // Of the current run.
  RunFate fate() const;

 private:
  std::optional<CheckTask> TakeCheck() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Clock& clock_;
  mutable Mutex mutex_;
  CondVar changed_;
  bool stop_ ABSL_GUARDED_BY(mutex_) = false;
  bool probing_ ABSL_GUARDED_BY(mutex_) = false;
  bool probe_now_ ABSL_GUARDED_BY(mutex_) = false;
  bool list_ ABSL_GUARDED_BY(mutex_) = false;
  std::deque<std::string> look_ups_ ABSL_GUARDED_BY(mutex_);
  // By URI.
  std::map<std::string, CheckTask> checks_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, RunRequest> runs_ ABSL_GUARDED_BY(mutex_);
  std::string running_ ABSL_GUARDED_BY(mutex_);  // URI of the current run.
  bool forgotten_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Duration next_run_ ABSL_GUARDED_BY(mutex_) = -absl::InfiniteDuration();
};

}  // namespace edgekiln::client::lsp

#endif  // EK_CLIENT_LSP_DAEMON_TASKS_H_
