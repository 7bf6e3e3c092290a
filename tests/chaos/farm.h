#ifndef EK_TESTS_CHAOS_FARM_H_
#define EK_TESTS_CHAOS_FARM_H_

// A daemon and its workers that may be killed at any moment and started again
// on what they left.

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "tests/chaos/synced_folder.h"

namespace edgekiln::chaos {

// A folder below the system's temporary folder; removed at the end unless it is
// to be looked at.
class Scratch {
 public:
  Scratch();
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  void Keep() { keep_ = true; }
  const std::string& path() const { return path_; }
  std::string At(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
  bool keep_ = false;
};

enum class Listening {
  kUnix,  // On sockets in the scratch folder.
  kTcp,   // On a free loopback port.
};

struct FarmOptions {
  std::string bin;  // Folder of the programs.
  int workers = 0;
  Listening listening = Listening::kUnix;
  bool http = false;  // On a free loopback port, too.
  // Whether a kill of the daemon takes with it what was not synced, as a power
  // failure would.
  bool drop_unsynced = false;
  std::string config{};  // A DaemonConfig as text; empty: none.
  // Descriptors that the daemon may have open at most, which it cannot raise;
  // 0: as the test itself.
  int max_descriptors = 0;
  // Handed to each worker beside --connect.
  std::vector<std::string> worker_arguments{};
};

// Thread-compatible; of the main thread: programs end with the thread that
// started them.
class Farm {
 public:
  // Logs and state go into `scratch`, which must outlive the farm. UNAVAILABLE
  // if something does not start, or the daemon does not take a worker.
  static absl::StatusOr<std::unique_ptr<Farm>> Start(const FarmOptions& options,
                                                     const Scratch& scratch);
  ~Farm();  // Kills what is left.
  Farm(const Farm&) = delete;
  Farm& operator=(const Farm&) = delete;

  // SIGKILL to this one process, which is gone on return.
  absl::Status KillDaemon();
  void KillWorker(int worker);
  // Starts the daemon and kills it `after` that, be it ready or not.
  absl::Status KillStartingDaemon(absl::Duration after);
  // After a kill. The daemon is ready on return; how long that took.
  absl::StatusOr<absl::Duration> StartDaemon();
  absl::Status StartWorker(int worker);
  // SIGTERM to all. UNAVAILABLE unless they leave in time with exit code 0.
  absl::Status Stop();

  // As --server takes it.
  const std::string& address() const { return address_; }
  // As --connect of a worker takes it.
  const std::string& workers_address() const { return workers_address_; }
  // As a browser has it, without "http://"; empty: none.
  const std::string& http_address() const { return http_address_; }
  pid_t daemon_pid() const { return daemon_; }
  const std::vector<pid_t>& worker_pids() const { return workers_; }
  // Whether the daemon runs; one that ended by itself does not.
  bool DaemonRuns();
  std::string state_folder() const;
  std::string blobs_folder() const;
  int workers() const { return static_cast<int>(workers_.size()); }
  // What kills of the daemon took so far, beyond what they interrupted.
  const Dropped& dropped() const { return dropped_; }

 private:
  Farm(const FarmOptions& options, const Scratch& scratch);
  absl::Status SpawnDaemon();
  // Until the daemon has taken all that were started.
  absl::Status AwaitWorkers();
  // `preload`: a library to load first, or empty.
  absl::StatusOr<pid_t> Spawn(const std::vector<std::string>& command,
                              const std::string& log,
                              const std::string& preload,
                              int max_descriptors = 0);
  static void Kill(pid_t& pid);

  const FarmOptions options_;
  const Scratch& scratch_;
  Dropped dropped_;
  std::string address_;
  std::string workers_address_;
  std::string http_address_;
  pid_t daemon_ = 0;  // 0: not running.
  std::vector<pid_t> workers_;
};

}  // namespace edgekiln::chaos

#endif  // EK_TESTS_CHAOS_FARM_H_
