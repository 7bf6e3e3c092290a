#include "server/daemon/farm/retry_policy.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/error.h"

namespace edgekiln::server {
namespace {

using Verdict = RetryRecord::Verdict;

// Two deaths of workers have the same cause only if they come at the same point
// of the stage.
bool AboutAsLong(absl::Duration a, absl::Duration b) {
  const absl::Duration tolerance =
      std::max(absl::Milliseconds(100), 0.1 * std::max(a, b));
  return std::max(a, b) - std::min(a, b) <= tolerance;
}

}  // namespace

FailureKind KindOf(const v1::ErrorDetail& error) {
  const std::string& reason = error.reason();
  if (reason == "STAGE_TIMEOUT" || reason == "COMPILER_TIMEOUT" ||
      reason == "STAGE_CRASHED") {
    return FailureKind::kDeterministic;
  }
  if (reason == "STAGE_KILLED" || reason == "STAGE_STARVED" ||
      reason == "WORKER_OUT_OF_MEMORY" || reason == "WORKER_NO_PROCESS") {
    return FailureKind::kMachine;
  }
  const bool exhausted =
      error.code() == static_cast<int>(absl::StatusCode::kResourceExhausted);
  if (reason == "DISK_FULL" || (reason == "WORKER_BLOBS" && exhausted)) {
    return FailureKind::kDiskFull;
  }
  return FailureKind::kOther;
}

Verdict RetryRecord::CountMachine(const RetryLimits& limits) {
  ++machine_;
  return {
      .what = machine_ >= limits.machine ? Verdict::kGiveUp : Verdict::kRetry,
      .failures = machine_};
}

Verdict RetryRecord::OnError(const v1::ErrorDetail& error,
                             const RetryLimits& limits) {
  any_ = true;
  const FailureKind kind = KindOf(error);
  if (kind == FailureKind::kDiskFull) {
    const int doublings = std::min(disk_full_++, 10);
    return {.what = Verdict::kWait,
            .wait = std::min(limits.first_disk_wait * (1 << doublings),
                             limits.last_disk_wait),
            .failures = disk_full_};
  }
  disk_full_ = 0;
  lost_alone_ = 0;
  switch (kind) {
    case FailureKind::kDeterministic: {
      // A crash tells its signal in `what`; a time-out how long it took.
      std::string common = error.reason();
      if (common != "STAGE_TIMEOUT") absl::StrAppend(&common, error.what());
      const int count = ++identical_[common];
      return {.what = count >= limits.identical ? Verdict::kQuarantine
                                                : Verdict::kRetry,
              .failures = count};
    }
    case FailureKind::kMachine:
      return CountMachine(limits);
    default:
      ++other_;
      return {
          .what = other_ >= limits.other ? Verdict::kGiveUp : Verdict::kRetry,
          .failures = other_};
  }
}

Verdict RetryRecord::OnLoss(Loss loss, absl::Duration ran, int64_t others,
                            const RetryLimits& limits) {
  any_ = true;
  if (loss == Loss::kInnocent) return {};
  if (loss == Loss::kInCompany) {
    // What it suffers with others ends when it gets a worker to itself.
    ++lost_in_company_;
    return {.failures = lost_in_company_};
  }
  const bool alike = lost_alone_ > 0 && others == lost_others_ &&
                     AboutAsLong(ran, lost_after_);
  lost_alone_ = alike ? lost_alone_ + 1 : 1;
  lost_after_ = ran;
  lost_others_ = others;
  const Verdict verdict = CountMachine(limits);
  if (lost_alone_ < limits.lost_alone) return verdict;
  return {.what = Verdict::kQuarantine, .failures = lost_alone_};
}

absl::Status StageGivenUp(const std::string& stage, int failures,
                          const absl::Status& last) {
  ErrorDetail detail = GetErrorDetail(last).value_or(ErrorDetail{
      .reason = "STAGE_FAILED", .what = std::string(last.message())});
  detail.fault = Fault::kInfra;
  detail.what = absl::StrCat("stage ", stage, " failed on our side ", failures,
                             " times; the last time: ", detail.what);
  if (detail.reason.empty()) detail.reason = "STAGE_FAILED";
  if (detail.where.empty()) detail.where = absl::StrCat("stage ", stage);
  if (detail.fix.empty()) {
    detail.fix =
        "look at the worker's log; if it crashed, report this with the model";
  }
  return MakeError(absl::StatusCode::kInternal, std::move(detail));
}

}  // namespace edgekiln::server
