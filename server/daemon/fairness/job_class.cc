#include "server/daemon/fairness/job_class.h"

#include <algorithm>

namespace edgekiln::server {

v1::JobClass ClassOf(const v1::CreateJobRequest& request) {
  const v1::JobClass wanted = request.options().job_class();
  if (wanted == v1::INTERACTIVE || wanted == v1::CI || wanted == v1::BATCH) {
    return wanted;
  }
  const auto& goals = request.goals();
  if (std::find(goals.begin(), goals.end(), v1::SWEEP) != goals.end()) {
    return v1::BATCH;
  }
  const bool inspects_only =
      std::all_of(request.goals().begin(), request.goals().end(),
                  [](int goal) { return goal == v1::INSPECT; });
  return inspects_only ? v1::INTERACTIVE : v1::CI;
}

bool GoesBefore(v1::JobClass a, v1::JobClass b) { return a < b; }

absl::Duration PatienceOf(v1::JobClass job_class) {
  switch (job_class) {
    case v1::INTERACTIVE:
      return absl::Seconds(10);
    case v1::CI:
      return absl::Minutes(1);
    default:
      return absl::Minutes(10);
  }
}

}  // namespace edgekiln::server
