#ifndef EK_TESTS_CHAOS_HONEST_JOB_H_
#define EK_TESTS_CHAOS_HONEST_JOB_H_

// What honest clients do all day, one request at a time.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/rng.h"
#include "edgekiln/v1/jobs.pb.h"
#include "edgekiln/v1/report.pb.h"
#include "tests/chaos/honest_times.h"
#include "tests/chaos/requests.h"

namespace edgekiln::chaos {

struct HonestJob {
  enum class Kind {
    kInspect,   // A model.
    kProfile,   // A model on a chip.
    kValidate,  // The same, with data.
    kUpload,    // Bytes there and back.
  };
  Kind kind = Kind::kInspect;
  Work work;             // Not for kUpload.
  int chip = 0;          // See WriteChip().
  uint64_t content = 0;  // kUpload: seed of the bytes.
  absl::Duration pause;  // Of the user, before it.
};

// What the service said; of `report` and `description` the one asked for.
struct HonestAnswer {
  v1::Report report;
  v1::ModelDescription description;
};

// How a job went until it was answered.
struct HonestEffort {
  int refusals = 0;   // Told to come again, or nobody was there.
  int restarts = 0;   // Stages that a worker had to begin again.
  HonestTimes times;  // Of the last try, but for `total`.
};

// "inspect", "profile", "validate", "upload".
std::string KindName(HonestJob::Kind kind);

// The networks that clients have.
std::vector<Work> HonestWork(const std::string& source,
                             const std::string& shared);

// The next job of client `client` after `number` others.
HonestJob NextJob(const std::vector<Work>& work, int client, int number,
                  Rng& rng);

struct HonestService {
  std::string address;  // Of the daemon.
  std::string folder;   // Of the client's own files.
};

// Does the job over a connection of its own, as the command line does. Comes
// again while nobody answers or the service is full. Errors: DEADLINE_EXCEEDED
// (not over by `deadline`); why the job failed; DATA_LOSS (other bytes came
// back).
absl::StatusOr<HonestAnswer> DoJob(const HonestJob& job,
                                   const HonestService& service,
                                   const std::string& request_id,
                                   absl::Time deadline, HonestEffort& effort,
                                   FileSystem& files, Clock& clock);

// DATA_LOSS with the first differences unless both say the same.
absl::Status SameAnswer(const HonestAnswer& expected,
                        const HonestAnswer& actual);

}  // namespace edgekiln::chaos

#endif  // EK_TESTS_CHAOS_HONEST_JOB_H_
