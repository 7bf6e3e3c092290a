#ifndef EK_TESTS_CHAOS_KILL_SUITE_H_
#define EK_TESTS_CHAOS_KILL_SUITE_H_

// Validations on a farm whose daemon and workers are killed at random instants,
// against the same validations on a farm that is left alone. Demands that
//  - every acknowledged job is found again and succeeds with the report of the
//    quiet farm, all but its id, times and cache hits;
//  - who watches a job through all kills sees every event once, in order, and
//    no stage computed again after it had finished;
//  - a job is accepted once, also if the daemon dies while it is being asked;
//  - uploads go on to their end, and what was acknowledged is served;
//  - every blob in the store is what its name says.
// With `drop_unsynced`, a kill of the daemon also takes with it everything that
// was not synced, as a power failure would.

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "tests/chaos/synced_folder.h"

namespace edgekiln::chaos {

struct KillOptions {
  std::string bin;     // Folder of the programs.
  std::string source;  // Folder of the repository.
  std::string shared;  // Folder of shared models and data; may be empty.
  int kills = 12;      // At least; each while a job was RUNNING.
  uint64_t seed = 1;
  int workers = 2;
  bool drop_unsynced = false;
};

struct KillStatistics {
  int daemon_kills = 0;  // Alone.
  int worker_kills = 0;  // One, alone.
  int joint_kills = 0;   // Daemon and all workers.
  int late = 0;          // The job was over by then; not counted above.
  // Of the daemon, beside those of RUNNING jobs.
  int create_kills = 0;    // CreateJob was under way.
  int created_kills = 0;   // It had just been answered.
  int starting_kills = 0;  // It was starting again.
  int upload_kills = 0;    // Of all: an upload was under way.
  Dropped dropped;
  int rounds = 0;
  int jobs = 0;
  int64_t samples = 0;           // Compared, over all jobs.
  int64_t outputs_compared = 0;  // Values, over all jobs.
  int64_t events = 0;            // Watched through the kills.
  int64_t uploads = 0;           // Acknowledged, and served afterwards.
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
