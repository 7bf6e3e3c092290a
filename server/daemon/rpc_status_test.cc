#include "server/daemon/rpc_status.h"

#include "absl/strings/string_view.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "gtest/gtest.h"
#include "server/daemon/retry_info.h"
#include "server/daemon/shutting_down.h"

namespace edgekiln::server {
namespace {

// Milliseconds of the RetryInfo that goes over the wire; 0: there is none.
int64_t SentDelayMs(const absl::Status& status) {
  google::rpc::Status rich;
  EXPECT_TRUE(rich.ParseFromString(ToGrpc(status).error_details()));
  for (const auto& any : rich.details()) {
    google::rpc::RetryInfo retry;
    if (!any.UnpackTo(&retry)) continue;
    return retry.retry_delay().seconds() * 1000 +
           retry.retry_delay().nanos() / 1'000'000;
  }
  return 0;
}

absl::Status Refused(absl::StatusCode code, const char* reason) {
  return MakeError(code, {.reason = reason, .what = "no"});
}

TEST(RpcStatusTest, TellsWhenToComeAgain) {
  const auto exhausted = absl::StatusCode::kResourceExhausted;
  struct {
    const char* name;
    absl::Status status;
    int64_t ms;
  } const kCases[] = {
      {"told", WithRetryDelay(Refused(exhausted, "X"), absl::Seconds(7)), 7000},
      {"annotated",
       Annotate(WithRetryDelay(Refused(exhausted, "X"), absl::Seconds(7)),
                "job"),
       7000},
      {"too soon",
       WithRetryDelay(Refused(exhausted, "X"), absl::ZeroDuration()), 1000},
      {"too late",
       WithRetryDelay(Refused(exhausted, "X"), absl::InfiniteDuration()),
       60000},
      {"disk", Refused(exhausted, "DISK_FULL"), 30000},
      {"queue", Refused(exhausted, "QUEUE_FULL"), 5000},
      {"uploads", Refused(exhausted, "UPLOADS_FULL"), 5000},
      {"watchers", Refused(exhausted, "TOO_MANY_WATCHERS"), 5000},
      {"shutting down", ShuttingDown(), 1000},
      {"does not pass", Refused(exhausted, "TOO_LARGE"), 0},
      {"no worker", Refused(absl::StatusCode::kUnavailable, "NO_WORKER"), 0},
      {"the user's fault",
       Refused(absl::StatusCode::kInvalidArgument, "QUEUE_FULL"), 0},
      {"without detail", absl::UnavailableError("gone"), 0},
  };
  for (const auto& test : kCases) {
    EXPECT_EQ(SentDelayMs(test.status), test.ms) << test.name;
  }
}

}  // namespace
}  // namespace edgekiln::server
