#include "server/daemon/http/call_message.h"

#include <memory>
#include <string>

#include "base/error.h"
#include "edgekiln/v1/jobs.pb.h"
#include "gtest/gtest.h"

namespace edgekiln::server {
namespace {

std::string ReasonOf(const std::string& method, const HttpFields& fields,
                     const std::string& body) {
  const auto request = MakeRequest(*MethodNamed(method), fields, body);
  return request.ok() ? "" : GetErrorDetail(request.status())->reason;
}

TEST(CallMessageTest, TakesBodyAndFields) {
  const auto request = MakeRequest(
      *MethodNamed("edgekiln.v1.Reports.GetReport"),
      {{"job_id", "j1"}, {"target", "3"}}, R"({"job_id": "other"})");
  ASSERT_TRUE(request.ok()) << request.status();
  EXPECT_EQ(ToJson(**request), R"({"job_id":"j1","target":3})");
  // Names as in the .proto files, and as in JSON.
  const auto job = MakeRequest(
      *MethodNamed("edgekiln.v1.Jobs.CreateJob"), {},
      R"({"model_name": "n", "requestId": "r", "goals": ["PROFILE"]})");
  ASSERT_TRUE(job.ok()) << job.status();
  const auto& create = dynamic_cast<const v1::CreateJobRequest&>(**job);
  EXPECT_EQ(create.request_id(), "r");
  EXPECT_EQ(create.goals(0), v1::PROFILE);
}

TEST(CallMessageTest, TakesEnumsAndListsFromAnAddress) {
  const auto request = MakeRequest(
      *MethodNamed("edgekiln.v1.Reports.RenderReport"),
      {{"format", "model-explorer"}, {"beside", "j2/0"}, {"beside", "j3/1"}},
      "");
  ASSERT_TRUE(request.ok()) << request.status();
  EXPECT_EQ(ToJson(**request),
            R"({"format":"MODEL_EXPLORER","beside":["j2/0","j3/1"]})");
}

TEST(CallMessageTest, RefusesWhatIsHardToParse) {
  constexpr char kCreate[] = "edgekiln.v1.Jobs.CreateJob";
  EXPECT_EQ(ReasonOf(kCreate, {}, std::string(65, '[')), "REQUEST_TOO_LARGE");
  EXPECT_EQ(ReasonOf(kCreate, {}, std::string(200'000, '[')),
            "REQUEST_TOO_LARGE");
}

TEST(CallMessageTest, RefusesWhatTheRequestLacks) {
  constexpr char kReport[] = "edgekiln.v1.Reports.GetReport";
  constexpr char kCreate[] = "edgekiln.v1.Jobs.CreateJob";
  EXPECT_EQ(ReasonOf(kReport, {{"target", "x"}}, ""), "BAD_REQUEST");
  EXPECT_EQ(ReasonOf(kReport, {{"target", "99999999999"}}, ""), "BAD_REQUEST");
  EXPECT_EQ(
      ReasonOf("edgekiln.v1.Reports.RenderReport", {{"format", "pdf"}}, ""),
      "BAD_REQUEST");
  EXPECT_EQ(ReasonOf(kReport, {{"colour", "red"}}, ""), "BAD_REQUEST");
  EXPECT_EQ(ReasonOf(kReport, {}, "{"), "BAD_REQUEST");
  EXPECT_EQ(ReasonOf(kReport, {}, R"({"colour": 1})"), "BAD_REQUEST");
  EXPECT_EQ(ReasonOf(kCreate, {{"targets", "a"}}, ""), "BAD_REQUEST");
  EXPECT_EQ(ReasonOf(kCreate, {{"options", "a"}}, ""), "BAD_REQUEST");
}

}  // namespace
}  // namespace edgekiln::server
