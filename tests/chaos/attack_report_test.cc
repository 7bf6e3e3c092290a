#include "tests/chaos/attack_report.h"

#include <string>

#include "base/error.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/chaos/attacker.h"

namespace edgekiln::chaos {
namespace {

using testing::HasSubstr;

AttackResult Result() {
  AttackResult result;
  result.undisturbed.right = 100;
  result.undisturbed.p99 = absl::Milliseconds(200);
  result.disturbed.right = 299;
  result.disturbed.wrong = 1;
  result.disturbed.p99 = absl::Milliseconds(500);
  result.disturbed.complaints = {"honest-1: the reports differ \xff"};
  result.disturbed.slowest.total = absl::Milliseconds(450);
  result.disturbed.slowest.wait = absl::Milliseconds(321);
  result.disturbed_cpu = {{"daemon", 0.75}};
  result.attackers = {{"uploads", 1000, 900, 7, 0}};
  result.checks = {{"p99", false, true, "too slow"}};
  return result;
}

TEST(AttackReportTest, JudgesTimingOnDemandOnly) {
  AttackResult result = Result();
  EXPECT_FALSE(result.Passed(/*with_timing=*/true));
  EXPECT_TRUE(result.Passed(/*with_timing=*/false));
  result.checks.push_back({"honest jobs", false, false, "1 wrong"});
  EXPECT_FALSE(result.Passed(/*with_timing=*/false));
  // A run that judged nothing has shown nothing.
  EXPECT_FALSE(AttackResult().Passed(/*with_timing=*/false));
}

TEST(AttackReportTest, ComparesThe99thPercentiles) {
  EXPECT_DOUBLE_EQ(Result().slowdown(), 2.5);
  EXPECT_DOUBLE_EQ(AttackResult().slowdown(), 0);
}

TEST(AttackReportTest, TellsPeopleAndPrograms) {
  const AttackResult result = Result();
  const std::string table = AttackTable(result);
  EXPECT_THAT(table, HasSubstr("uploads"));
  EXPECT_THAT(table, HasSubstr("FAILED p99"));
  EXPECT_THAT(table, HasSubstr("450 ms: prepare 0, create 0, wait 321"));
  EXPECT_THAT(table, HasSubstr("processors used, attacked: daemon 0.75"));
  EXPECT_THAT(table, HasSubstr("the reports differ"));
  const auto json = nlohmann::json::parse(AttackJson({}, result));
  EXPECT_EQ(json["attacked"]["wrong"], 1);
  EXPECT_EQ(json["attackers"][0]["refusals"], 900);
  EXPECT_DOUBLE_EQ(json["attacked"]["slowest"]["wait_ms"], 321);
  EXPECT_DOUBLE_EQ(json["attacked_processors"]["daemon"], 0.75);
  EXPECT_DOUBLE_EQ(json["p99_ratio"], 2.5);
}

TEST(AttackTest, TellsRefusalsFromSilence) {
  Tally tally = {};
  Attack attack(AttackTarget(), tally);
  attack.Count(absl::OkStatus());
  attack.Count(absl::InvalidArgumentError("too long"));
  attack.Count(absl::UnavailableError("connection refused"));
  attack.Count(MakeError(absl::StatusCode::kUnavailable,
                         {.reason = "SHUTTING_DOWN", .what = "it ends"}));
  attack.CountSilent();
  attack.CountBreach();
  EXPECT_EQ(tally.actions, 5);
  EXPECT_EQ(tally.refusals, 2);
  EXPECT_EQ(tally.unanswered, 1);
  EXPECT_EQ(tally.breaches, 1);
}

TEST(AttackTest, EveryAttackerIsFoundByItsName) {
  for (const Attacker& attacker : Attackers()) {
    EXPECT_EQ(FindAttacker(attacker.name), &attacker);
  }
  EXPECT_EQ(FindAttacker("nobody"), nullptr);
}

}  // namespace
}  // namespace edgekiln::chaos
