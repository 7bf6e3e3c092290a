#include "server/daemon/http/answer.h"

#include <string>

#include "absl/strings/match.h"
#include "base/error.h"
#include "gtest/gtest.h"
#include "server/daemon/rpc_status.h"

namespace edgekiln::server {
namespace {

TEST(AnswerTest, HasTheErrorsDetails) {
  const HttpAnswer answer = ErrorAnswer(
      MakeError(absl::StatusCode::kNotFound, {.fault = Fault::kUser,
                                              .reason = "NO_JOB",
                                              .what = "there is no \"job\"\n",
                                              .fix = "look at /v1/jobs"}));
  EXPECT_EQ(answer.code, 404);
  EXPECT_TRUE(absl::StartsWith(
      answer.body, R"({"error":{"code":404,"status":"NOT_FOUND","message":")"))
      << answer.body;
  EXPECT_TRUE(absl::StrContains(answer.body, R"("reason":"NO_JOB")"));
  EXPECT_TRUE(absl::StrContains(answer.body, R"("fix":"look at /v1/jobs")"));
  EXPECT_TRUE(absl::StrContains(answer.body, R"(no \"job\")"));
  EXPECT_TRUE(absl::EndsWith(answer.body, "}}\n"));
}

TEST(AnswerTest, IsWholeWithoutDetails) {
  const HttpAnswer answer =
      ErrorAnswer(grpc::Status(grpc::StatusCode::UNAVAILABLE, "gone"));
  EXPECT_EQ(answer.body,
            "{\"error\":{\"code\":503,\"status\":\"UNAVAILABLE\","
            "\"message\":\"gone\"}}\n");
  EXPECT_EQ(HttpCodeOf(grpc::StatusCode::RESOURCE_EXHAUSTED), 429);
}

}  // namespace
}  // namespace edgekiln::server
