#ifndef EK_TESTS_CHAOS_KILL_SUITE_H_
#define EK_TESTS_CHAOS_KILL_SUITE_H_

// Validations on a farm whose daemon and workers are killed at random instants,
// against the same validations on a farm that is left alone. Demands that
//  - every acknowledged job is found again and succeeds with the report of the
//    quiet farm, all but its id, times and cache hits;
//  - who watches a job through all kills sees every event once, in order;
//  - every blob in the store is what its name says.

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace edgekiln::chaos {

struct KillOptions {
  std::string bin;     // Folder of the programs.
  std::string source;  // Folder of the repository.
  std::string shared;  // Folder of shared models and data; may be empty.
  int kills = 12;      // At least; each while a job was RUNNING.
  uint64_t seed = 1;
  int workers = 2;
};

struct KillStatistics {
  int daemon_kills = 0;  // Alone.
  int worker_kills = 0;  // One, alone.
  int joint_kills = 0;   // Daemon and all workers.
  int late = 0;          // The job was over by then; not counted above.
  int rounds = 0;
  int jobs = 0;
  int64_t samples = 0;           // Compared, over all jobs.
  int64_t outputs_compared = 0;  // Values, over all jobs.
  int64_t events = 0;            // Watched through the kills.
  int64_t blobs = 0;             // Verified at the end.
  int64_t blob_bytes = 0;
  absl::Duration slowest_restart;  // Of the daemon, until it serves.

  int kills() const { return daemon_kills + worker_kills + joint_kills; }
};

// To be called by the main thread. The error says what was lost, doubled or
// different; the state and logs are kept then, and it says where. `statistics`
// is filled as far as it got.
absl::Status RunKillSuite(const KillOptions& options,
                          KillStatistics& statistics);

}  // namespace edgekiln::chaos

#endif  // EK_TESTS_CHAOS_KILL_SUITE_H_
