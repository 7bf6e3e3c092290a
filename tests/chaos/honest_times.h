#ifndef EK_TESTS_CHAOS_HONEST_TIMES_H_
#define EK_TESTS_CHAOS_HONEST_TIMES_H_

// Where the time of an honest job goes, as its client and the events of the
// daemon tell it.

#include <cstdint>
#include <set>
#include <string>

#include "absl/time/time.h"
#include "edgekiln/v1/jobs.pb.h"

namespace edgekiln::chaos {

struct HonestTimes {
  absl::Duration total;
  // Connecting and asking for blobs that are missing, and uploads.
  absl::Duration prepare;
  absl::Duration create;  // Until CreateJob has answered.
  // No worker has a stage of the job: it waits for a slot, or for the daemon.
  absl::Duration wait;
  absl::Duration stages;     // A worker has at least one.
  absl::Duration told;       // From the last event until it has arrived.
  absl::Duration fetch;      // GetJob and GetReport.
  absl::Duration stage_cpu;  // Of workers, for stages that the job ran itself.

  HonestTimes& operator+=(const HonestTimes& other);
  HonestTimes& operator/=(int64_t count);
};

// "312 ms: prepare 3, create 2, wait 240, ...".
std::string TimesText(const HonestTimes& times);

// Follows the events of one job. Thread-compatible.
class StageTimes {
 public:
  // `created`: when CreateJob answered.
  explicit StageTimes(absl::Time created) : last_(created) {}
  void OnEvent(const v1::JobEvent& event);
  // Sets `wait`, `stages`, `told` and `stage_cpu`; `over`: the last event has
  // arrived.
  void Get(absl::Time over, HonestTimes& times) const;

 private:
  absl::Time last_;                // Event.
  std::set<std::string> running_;  // By name: of jobs with one target.
  HonestTimes times_;
};

}  // namespace edgekiln::chaos

#endif  // EK_TESTS_CHAOS_HONEST_TIMES_H_
