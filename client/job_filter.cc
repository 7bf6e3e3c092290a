#include "client/job_filter.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/exit_code.h"

namespace edgekiln::client {
namespace {

constexpr struct {
  absl::string_view name;
  v1::JobState state;
} kStates[] = {{"queued", v1::QUEUED},       {"running", v1::RUNNING},
               {"succeeded", v1::SUCCEEDED}, {"failed", v1::FAILED},
               {"cancelled", v1::CANCELLED}, {"active", v1::QUEUED},
               {"active", v1::RUNNING}};

bool HasPart(absl::string_view text, absl::string_view part) {
  return absl::StrContains(absl::AsciiStrToLower(text),
                           absl::AsciiStrToLower(part));
}

absl::Time CreatedAt(const v1::Job& job) {
  return absl::FromUnixSeconds(job.created().seconds()) +
         absl::Nanoseconds(job.created().nanos());
}

}  // namespace

absl::StatusOr<std::vector<v1::JobState>> ParseJobStates(
    absl::string_view text) {
  std::vector<v1::JobState> states;
  for (const absl::string_view name : absl::StrSplit(text, ',')) {
    const size_t before = states.size();
    for (const auto& known : kStates) {
      if (known.name == name) states.push_back(known.state);
    }
    if (states.size() == before) {
      return UsageError(
          absl::StrCat("'", name, "' is not a state of jobs"), "--state",
          "queued, running, succeeded, failed, cancelled, or active (queued "
          "or running)",
          "write for example --state failed,cancelled");
    }
  }
  return states;
}

bool Matches(const JobFilter& filter, const v1::Job& job, absl::Time now) {
  if (!filter.states.empty() &&
      std::find(filter.states.begin(), filter.states.end(), job.state()) ==
          filter.states.end()) {
    return false;
  }
  if (!HasPart(job.request().model_name(), filter.model)) {
    return false;
  }
  if (IsTooOld(filter, job, now)) return false;
  if (filter.target.empty()) return true;
  return std::any_of(job.request().targets().begin(),
                     job.request().targets().end(),
                     [&](const v1::TargetRef& target) {
                       return HasPart(target.name(), filter.target);
                     });
}

bool IsTooOld(const JobFilter& filter, const v1::Job& job, absl::Time now) {
  return now - CreatedAt(job) > filter.since;
}

}  // namespace edgekiln::client
