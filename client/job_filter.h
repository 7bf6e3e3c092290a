#ifndef EK_CLIENT_JOB_FILTER_H_
#define EK_CLIENT_JOB_FILTER_H_

// Which jobs `jobs list` shows.

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "edgekiln/v1/jobs.pb.h"

namespace edgekiln::client {

struct JobFilter {
  std::vector<v1::JobState> states = {};  // Any of them; empty: all.
  std::string model = "";   // Part of the model's name; case ignored.
  std::string target = "";  // Part of one target's name; likewise.
  absl::Duration since = absl::InfiniteDuration();  // Created no longer ago.

  bool empty() const {
    return states.empty() && model.empty() && target.empty() &&
           since == absl::InfiniteDuration();
  }
};

// "queued", "running", "succeeded", "failed", "cancelled", or "active" for the
// first two; several separated by commas.
absl::StatusOr<std::vector<v1::JobState>> ParseJobStates(
    absl::string_view text);

bool Matches(const JobFilter& filter, const v1::Job& job, absl::Time now);
// Jobs come newest first: whether `job` and all after it are too old.
bool IsTooOld(const JobFilter& filter, const v1::Job& job, absl::Time now);

}  // namespace edgekiln::client

#endif  // EK_CLIENT_JOB_FILTER_H_
