// Whose fault it is that a simulated chip refuses a program.

#include "server/worker/stages/session_input.h"

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "base/error.h"
#include "gtest/gtest.h"
#include "simfarm/simulators/cycle_limit.h"

namespace edgekiln::server {
namespace {

std::optional<ErrorDetail> Of(const std::string& reason) {
  return GetErrorDetail(SimulationError(
      MakeError(absl::StatusCode::kOutOfRange,
                {.reason = reason, .what = "it is wrong", .where = "job A"})));
}

TEST(SimulationErrorTest, WhatTheTargetsExpressionsGiveIsTheUsers) {
  for (const std::string reason :
       {"TARGET_INVALID", "EXPRESSION_OVERFLOW", "INDEX_RANGE"}) {
    const auto detail = Of(reason);
    ASSERT_TRUE(detail.has_value()) << reason;
    EXPECT_EQ(detail->fault, Fault::kUser) << reason;
    EXPECT_EQ(detail->reason, reason);
    EXPECT_EQ(detail->where, "job A") << reason;
  }
  const auto cycles = GetErrorDetail(SimulationError(simfarm::TooManyCycles()));
  ASSERT_TRUE(cycles.has_value());
  EXPECT_EQ(cycles->reason, "TOO_MANY_CYCLES");
  EXPECT_EQ(cycles->fault, Fault::kUser);
  EXPECT_TRUE(absl::StrContains(cycles->fix, "target file")) << cycles->fix;
}

TEST(SimulationErrorTest, OtherProgramsThatAreRefusedAreFaultsOfOurs) {
  const auto detail = Of("PROGRAM_INVALID");
  ASSERT_TRUE(detail.has_value());
  EXPECT_EQ(detail->fault, Fault::kInfra);
  EXPECT_EQ(detail->reason, "SIMULATION");
  EXPECT_TRUE(absl::StrContains(detail->fix, "report this")) << detail->fix;
}

}  // namespace
}  // namespace edgekiln::server
