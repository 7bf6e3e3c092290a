#include "reports/verdict.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace edgekiln {
namespace {

using Level = Verdict::Level;

v1::Report Compared(int64_t mismatches) {
  v1::Report report;
  report.mutable_bit_exact()->set_outputs_compared(2000);
  report.mutable_bit_exact()->set_mismatches(mismatches);
  return report;
}

void AddGate(v1::Report& report, bool passed) {
  v1::Report::Gate& gate = *report.add_gates();
  gate.set_name("cycles");
  gate.set_unit("cycles");
  gate.set_limit(10);
  gate.set_value(passed ? 5 : 15);
  gate.set_passed(passed);
}

void ExpectVerdict(const v1::Report& report, Level level,
                   const std::string& title,
                   const std::vector<std::string>& details) {
  const Verdict verdict = VerdictOf(report);
  EXPECT_EQ(verdict.level, level) << title;
  EXPECT_EQ(verdict.title, title);
  EXPECT_EQ(verdict.details, details);
}

TEST(VerdictTest, OfWhatWasCompared) {
  ExpectVerdict(Compared(0), Level::kPassed, "bit-exact",
                {"2 000 values compared with the reference, 0 mismatches"});
  v1::Report differs = Compared(1);
  differs.mutable_bit_exact()->set_first_mismatch("conv1\n: 3, 4");
  ExpectVerdict(differs, Level::kFailed, "not bit-exact",
                {"2 000 values compared with the reference, 1 mismatch",
                 "first: conv1?: 3, 4"});
  ExpectVerdict(v1::Report(), Level::kNotTested, "not compared",
                {"no values were compared with the reference"});
}

TEST(VerdictTest, OfLimits) {
  v1::Report kept;
  AddGate(kept, true);
  ExpectVerdict(kept, Level::kPassed, "limits kept",
                {"limit kept: cycles 5, at most 10"});
  v1::Report broken = Compared(0);
  AddGate(broken, true);
  AddGate(broken, false);
  ExpectVerdict(broken, Level::kFailed, "limit broken",
                {"2 000 values compared with the reference, 0 mismatches",
                 "limit kept: cycles 5, at most 10",
                 "limit broken: cycles 15, at most 10: 5 too many (+50.0 %)"});
}

TEST(VerdictTest, OfATargetThatFailed) {
  v1::Report failed = Compared(0);
  failed.mutable_error()->set_what("it does not fit");
  ExpectVerdict(failed, Level::kFailed, "failed", {"it does not fit"});
}

}  // namespace
}  // namespace edgekiln
