#ifndef EK_SERVER_DAEMON_DAEMON_H_
#define EK_SERVER_DAEMON_DAEMON_H_

// edgekilnd without its command line: opens the state folder, listens, serves.

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/log.h"
#include "cache/upload_store.h"
#include "edgekiln/v1/config.pb.h"

namespace edgekiln::server {

struct DaemonOptions {
  // "host:port", "[ipv6]:port" or "unix:/path". Port 0 picks one.
  std::string listen = "127.0.0.1:7433";
  std::string workers_listen = "127.0.0.1:7434";
  std::string http;     // As `listen`, for people with curl; empty: none.
  std::string metrics;  // As `listen`, for Prometheus; empty: none.
  // Whether other machines may reach the addresses above.
  bool insecure_network = false;
  std::string state_folder;
  int64_t max_blob_bytes = int64_t{2} << 30;
  int64_t cache_limit_bytes = 0;  // Of blobs and stage results; 0: none.
  cache::UploadLimits uploads;
  // Stays free for the job database: what would need it is refused before.
  int64_t disk_reserve_bytes = int64_t{64} << 20;
  int max_running_jobs = 32;
  int job_threads = 4;  // In which jobs go on between their stages.
  int max_queued_jobs = 1000;
  int64_t max_sweep_cells = 20'000;
  // Finished ones, with events and reports.
  int64_t keep_jobs = 10'000;
  absl::Duration keep_jobs_for = absl::Hours(24 * 30);
  absl::Duration lease_timeout = absl::Minutes(10);
  absl::Duration heartbeat = absl::Seconds(2);
  // Of clients and workers together; less where few files may be open.
  int max_connections = 512;
  // For whoever ends the daemon: how long running leases may take after
  // Drain().
  absl::Duration drain_for = absl::Seconds(10);
  std::string worker_secret_file;  // Empty: "worker_secret" in state_folder.
  int max_workers = 0;             // 0: as many as there are connections for.
  int max_worker_slots = 256;      // Of one worker.
};

// What workers must know to be taken: made by the daemon when it starts.
std::string WorkerSecretFile(const DaemonOptions& options);

// Takes over what `config` sets, but for the workers: whoever starts the daemon
// starts those. Errors: INVALID_ARGUMENT (a negative value, theirs included).
absl::Status ApplyConfig(const v1::DaemonConfig& config,
                         DaemonOptions& options);

// Sets `max_workers` where it is 0. INVALID_ARGUMENT where it is more than
// workers have connections: the rest would wait for ever.
absl::Status SettleWorkers(DaemonOptions& options);

// Serves from creation to destruction. Thread-safe.
class Daemon {
 public:
  virtual ~Daemon() = default;
  // With the ports that were really taken.
  virtual const std::string& client_address() const = 0;
  virtual const std::string& worker_address() const = 0;
  virtual std::string http_address() const = 0;     // Empty: no HTTP.
  virtual std::string metrics_address() const = 0;  // Empty: no metrics.
  // Since when no client has called and no job has run; zero while one does.
  virtual absl::Duration IdleFor() = 0;
  // OK while the state folder is there. UNAVAILABLE once somebody has removed
  // it or its job database, DATA_LOSS once the latter turned out to be damaged:
  // then it is time to end, nothing can be stored any more.
  virtual absl::Status CheckState() = 0;
  // Before the end: health says NOT_SERVING, new jobs are refused with
  // SHUTTING_DOWN, workers get no more leases. What is under way goes on.
  virtual void Drain() = 0;
  // Whether no worker has a lease. What ended is stored then.
  virtual bool Drained() = 0;
};

// Raises the process's limit of open files. Errors: INVALID_ARGUMENT (an
// address that other machines reach, without `insecure_network`; more workers
// than have connections),
// ALREADY_EXISTS (another process has the state folder), UNAVAILABLE (an
// address is taken, or the folder is unusable). Arguments must outlive it.
absl::StatusOr<std::unique_ptr<Daemon>> StartDaemon(
    const DaemonOptions& options, Clock& clock, Logger& log);

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_DAEMON_H_
