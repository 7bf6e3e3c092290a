#include "client/retry.h"

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "base/error.h"
#include "client/commands/compile.h"
#include "client/rpc_status.h"
#include "client/testing/commands_fixture.h"
#include "edgekiln/v1/error.pb.h"
#include "google/rpc/error_details.pb.h"

namespace edgekiln::client {
namespace {

// As the daemon sends it; no RetryInfo for 0.
absl::Status Refused(const std::string& reason, int64_t delay_ms) {
  v1::ErrorDetail detail;
  detail.set_reason(reason);
  detail.set_what("too many jobs wait already");
  detail.set_fault(v1::ErrorDetail::QUOTA);
  google::rpc::Status rich;
  rich.set_code(static_cast<int>(absl::StatusCode::kResourceExhausted));
  if (delay_ms > 0) {
    google::rpc::RetryInfo retry;
    retry.mutable_retry_delay()->set_seconds(delay_ms / 1000);
    retry.mutable_retry_delay()->set_nanos(
        static_cast<int32_t>(delay_ms % 1000 * 1'000'000));
    rich.add_details()->PackFrom(retry);
  }
  rich.add_details()->PackFrom(detail);
  return FromRpcStatus(rich);
}

class RetryTest : public CommandsTest {
 protected:
  // With `answers` one after the other, the last one for ever.
  absl::Status Try(std::vector<absl::Status> answers,
                   absl::Duration timeout = absl::InfiniteDuration()) {
    Progress progress(
        {.style = ProgressStyle::kPlain,
         .write = [&](absl::string_view text) { absl::StrAppend(&err_, text); },
         .width = {},
         .now = [&] { return clock_.Monotonic(); }});
    const CommandLine line;
    CommandContext context{.line = line,
                           .connection = connection_,
                           .files = *files_,
                           .clock = clock_,
                           .progress = progress,
                           .print = [](absl::string_view) {},
                           .print_bytes = [](absl::string_view) {},
                           .deadline = clock_.Monotonic() + timeout};
    return RetryWhenTold(context, nullptr, [&] {
      return answers[std::min<size_t>(attempts_++, answers.size() - 1)];
    });
  }

  size_t attempts_ = 0;
};

TEST_F(RetryTest, TheDelayCrossesTheWire) {
  EXPECT_EQ(RetryDelay(Refused("QUEUE_FULL", 1500)), absl::Milliseconds(1500));
  EXPECT_FALSE(RetryDelay(Refused("QUEUE_FULL", 0)).has_value());
  EXPECT_FALSE(RetryDelay(absl::OkStatus()).has_value());
}

TEST_F(RetryTest, ComesAgainWhenToldAndSaysSo) {
  const absl::Duration start = clock_.Monotonic();
  EXPECT_TRUE(Try({Refused("QUEUE_FULL", 7000), Refused("DISK_FULL", 2000),
                   absl::OkStatus()})
                  .ok());
  EXPECT_EQ(attempts_, 3u);
  EXPECT_EQ(clock_.Monotonic() - start, absl::Seconds(9));
  EXPECT_TRUE(absl::StrContains(
      err_, "waiting: too many jobs wait already; asked again in about 7s"))
      << err_;
}

TEST_F(RetryTest, OtherErrorsAreFinal) {
  const absl::Status refused = Refused("TOO_LARGE", 0);
  EXPECT_EQ(Try({refused}), refused);
  EXPECT_EQ(attempts_, 1u);
}

TEST_F(RetryTest, NeverWaitsBeyondTheTimeout) {
  const absl::Duration start = clock_.Monotonic();
  const absl::Status status =
      Try({Refused("QUEUE_FULL", 4000)}, absl::Seconds(10));
  EXPECT_EQ(GetErrorDetail(status)->reason, "QUEUE_FULL");
  EXPECT_EQ(attempts_, 3u);
  EXPECT_EQ(clock_.Monotonic() - start, absl::Seconds(8));
}

TEST_F(RetryTest, WithoutATimeoutItGivesUpAfterTenMinutes) {
  const absl::Duration start = clock_.Monotonic();
  EXPECT_FALSE(Try({Refused("QUEUE_FULL", 60'000)}).ok());
  EXPECT_LE(clock_.Monotonic() - start, absl::Minutes(10));
  EXPECT_GE(clock_.Monotonic() - start, absl::Minutes(9));
}

TEST_F(RetryTest, ACommandWaitsForAFullQueue) {
  connection_.create_error = Refused("QUEUE_FULL", 4000);
  const absl::Status status =
      Run(RunCompile, {"compile", model_, "--target", "a", "--timeout", "10s"});
  EXPECT_EQ(GetErrorDetail(status)->reason, "QUEUE_FULL");
  EXPECT_TRUE(absl::StrContains(err_, "asked again in about 4s")) << err_;
}

TEST_F(RetryTest, TheClassIsGivenOrFollowsFromWhoLooks) {
  const std::vector<std::string> args = {"compile", model_, "--target", "a"};
  const auto asked = [&](const std::vector<std::string>& more) {
    std::vector<std::string> all = args;
    all.insert(all.end(), more.begin(), more.end());
    EXPECT_TRUE(Run(RunCompile, all).ok());
    return connection_.created.options().job_class();
  };
  EXPECT_EQ(asked({}), v1::CI);
  EXPECT_EQ(asked({"--supersede", "pane"}), v1::INTERACTIVE);
  EXPECT_EQ(asked({"--supersede", "pane", "--class", "batch"}), v1::BATCH);
}

}  // namespace
}  // namespace edgekiln::client
