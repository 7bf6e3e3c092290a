#include "server/daemon/jobs/check_options.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/error.h"
#include "base/status_macros.h"

namespace edgekiln::server {
namespace {

constexpr absl::Duration kMin = absl::Milliseconds(1);
constexpr absl::Duration kMax = absl::Hours(24 * 365 * 10);

absl::Status CheckDeadline(absl::string_view field,
                           const google::protobuf::Duration& deadline) {
  const int64_t seconds = deadline.seconds();
  const int32_t nanos = deadline.nanos();
  const bool valid = nanos > -1'000'000'000 && nanos < 1'000'000'000 &&
                     !(seconds > 0 && nanos < 0) && !(seconds < 0 && nanos > 0);
  const absl::Duration value = ToDuration(deadline);
  if (valid && value >= kMin && value <= kMax) return absl::OkStatus();
  return MakeError(
      absl::StatusCode::kInvalidArgument,
      {.fault = Fault::kUser,
       .reason = "BAD_DEADLINE",
       .what = !valid ? "the deadline is not a valid Duration"
               : value < absl::ZeroDuration() ? "the deadline is negative"
                                              : "the deadline is out of range",
       .where = absl::StrCat("CreateJobRequest.options.", field),
       .limit = "1 ms to 10 years",
       .need = absl::StrCat(seconds, " s and ", nanos, " ns"),
       .fix = "give a positive duration, or leave the field out for no "
              "deadline"});
}

}  // namespace

absl::Duration ToDuration(const google::protobuf::Duration& duration) {
  return absl::Seconds(duration.seconds()) +
         absl::Nanoseconds(duration.nanos());
}

absl::Status CheckJobOptions(const v1::JobOptions& options) {
  if (options.has_queue_deadline()) {
    EK_RETURN_IF_ERROR(
        CheckDeadline("queue_deadline", options.queue_deadline()));
  }
  if (options.has_run_deadline()) {
    EK_RETURN_IF_ERROR(CheckDeadline("run_deadline", options.run_deadline()));
  }
  if (!v1::JobClass_IsValid(options.job_class())) {
    return MakeError(
        absl::StatusCode::kInvalidArgument,
        {.fault = Fault::kUser,
         .reason = "BAD_CLASS",
         .what = "unknown job class",
         .where = "CreateJobRequest.options.job_class",
         .limit = "INTERACTIVE (1), CI (2), BATCH (3)",
         .need = absl::StrCat(static_cast<int>(options.job_class())),
         .fix = "use one of these classes, or leave the field out"});
  }
  return absl::OkStatus();
}

}  // namespace edgekiln::server
