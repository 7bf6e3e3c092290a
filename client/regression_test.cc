#include "client/regression.h"

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "base/error.h"
#include "client/error_detail.h"
#include "client/exit_code.h"
#include "reports/diff.h"

namespace edgekiln::client {
namespace {

v1::Report Report(const std::string& changes = "") {
  v1::Report report;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
      R"pb(
        target_name: "chip"
        totals { cycles: 100 }
        layers { id: "conv1" cycles: 60 }
        layers { id: "conv2" cycles: 40 }
        memory { flash_bytes: 100 ram_bytes: 100 sram_peak_bytes: 100 }
      )pb",
      &report));
  EXPECT_TRUE(google::protobuf::TextFormat::MergeFromString(changes, &report));
  return report;
}

std::string Memories(int flash, int dtcm) {
  return "memory { memories { name: 'flash' used_bytes: " +
         std::to_string(flash) +
         " } memories { name: 'dtcm' used_bytes: " + std::to_string(dtcm) +
         " } }";
}

absl::Status Check(const v1::Report& a, const v1::Report& b,
                   const RegressionLimits& limits) {
  return CheckRegression({DiffReports(a, "a.json", b, "b.json")}, limits);
}

TEST(RegressionTest, Table) {
  const RegressionLimits two_percent = {.max_percent = 2};
  const RegressionLimits one_point = {.max_accuracy_drop = 1};
  const struct {
    const char* name;
    std::string a;
    std::string b;
    RegressionLimits limits;
    const char* broken;  // Empty: passes.
  } kCases[] = {
      {"no limits", "", "totals { cycles: 900 }", {}, ""},
      {"equal", "", "", {.max_percent = 0}, ""},
      {"less", "", "totals { cycles: 50 }", {.max_percent = 0}, ""},
      {"at the limit", "", "totals { cycles: 102 }", two_percent, ""},
      {"cycles", "", "totals { cycles: 103 } layers { id: 'conv3' cycles: 3 }",
       two_percent,
       "cycles grew from 100 to 103 (+3.00 %), most in conv3 (+3)"},
      {"flash", "", "memory { flash_bytes: 103 }", two_percent,
       "flash_bytes grew from 100 to 103 (+3.00 %)"},
      {"ram", "", "memory { ram_bytes: 110 }", two_percent,
       "ram_bytes grew from 100 to 110 (+10.00 %)"},
      {"a memory by name", Memories(50, 50), Memories(50, 60), two_percent,
       "memory.dtcm grew from 50 to 60 (+20.00 %)"},
      // Once, by its name.
      {"flash by name", Memories(50, 50),
       Memories(60, 50) + "memory { flash_bytes: 200 }", two_percent,
       "memory.flash grew from 50 to 60 (+20.00 %)"},
      {"a baseline without names", "", Memories(60, 50), two_percent, ""},
      {"from nothing", "totals { cycles: 0 }", "", two_percent,
       "cycles grew from 0 to 100"},
      {"accuracy is not a growth", "accuracy { value: 0.9 }",
       "accuracy { value: 0.5 }", two_percent, ""},
      // 100 * (0.9 - 0.89) is a little more than 1.
      {"accuracy at the limit", "accuracy { value: 0.9 }",
       "accuracy { value: 0.89 }", one_point, ""},
      {"accuracy", "accuracy { value: 0.9 }", "accuracy { value: 0.88 }",
       one_point, "accuracy fell from 90.00 % to 88.00 % (-2.00 points)"},
      {"accuracy only before", "accuracy { value: 0.9 }", "", one_point,
       "no accuracy in b.json: it cannot be compared"},
      {"accuracy only after", "", "accuracy { value: 0.9 }", one_point,
       "no accuracy in a.json: it cannot be compared"},
      {"no accuracy", "", "", one_point,
       "no accuracy in a.json and b.json: it cannot be compared"},
      {"auc", "accuracy { metric: 'auc' value: 0.9 }",
       "accuracy { metric: 'auc' value: 0.88 }", one_point,
       "auc fell from 0.9000 to 0.8800 (-2.00 points)"},
      {"another metric", "accuracy { metric: 'top1' value: 0.9 }",
       "accuracy { metric: 'auc' value: 0.95 }", one_point,
       "the reports have different metrics, which cannot be compared"},
      {"an error", "accuracy { metric: 'mse' value: 2 less_is_better: true }",
       "accuracy { metric: 'mse' value: 1 less_is_better: true }", one_point,
       "mse is an error: it has no points to lose"},
      {"better",
       "accuracy { value: 0.9 }",
       "accuracy { value: 0.95 }",
       {.max_accuracy_drop = 0},
       ""},
  };
  for (const auto& test : kCases) {
    SCOPED_TRACE(test.name);
    const absl::Status status =
        Check(Report(test.a), Report(test.b), test.limits);
    EXPECT_EQ(status.ok(), std::string(test.broken).empty()) << status;
    if (status.ok()) continue;
    EXPECT_EQ(ExitCodeFor(status), ExitCode::kGate);
    const ErrorDetail detail = *GetErrorDetail(status);
    EXPECT_EQ(detail.what, test.broken);
    EXPECT_EQ(detail.where, "a.json to b.json, chip");
    // What was not measured is in no table.
    const bool measured = detail.what.find("fell") != std::string::npos ||
                          detail.what.find("grew") != std::string::npos;
    EXPECT_EQ(detail.fix.find("edgekiln validate") == std::string::npos,
              measured)
        << detail.fix;
    EXPECT_TRUE(LinesOf(status).empty());
  }
}

TEST(RegressionTest, EveryBrokenQuantityOfEveryTargetIsALine) {
  const v1::Report a = Report(Memories(50, 50) + "accuracy { value: 0.9 }");
  v1::Report b = Report(Memories(60, 60) +
                        "accuracy { value: 0.8 } totals { cycles: 110 }");
  const v1::ReportDiff first = DiffReports(a, "a", b, "b");
  b.set_target_name("other");
  const v1::ReportDiff second = DiffReports(a, "a", b, "b");
  const absl::Status status = CheckRegression(
      {first, second}, {.max_percent = 2, .max_accuracy_drop = 1});
  EXPECT_EQ(ExitCodeFor(status), ExitCode::kGate);
  const std::vector<std::string> lines = LinesOf(status);
  ASSERT_EQ(lines.size(), 8u) << status;
  EXPECT_EQ(lines[0], "chip: cycles grew from 100 to 110 (+10.00 %)");
  EXPECT_EQ(lines[3],
            "chip: accuracy fell from 90.00 % to 80.00 % (-10.00 points)");
  EXPECT_EQ(lines[6], "other: memory.dtcm grew from 50 to 60 (+20.00 %)");
  const ErrorDetail detail = *GetErrorDetail(status);
  EXPECT_EQ(detail.limit, "--max-accuracy-drop 1, --max-regression 2 %");
  EXPECT_EQ(detail.what, "8 limits are broken");
  // The lines name the targets.
  EXPECT_EQ(detail.where, "a to b");
}

TEST(RegressionTest, TheFixMatchesWhatGotWorse) {
  const std::string accuracy = "accuracy { value: 0.9 }";
  const std::string worse = "accuracy { value: 0.5 }";
  const std::string slower = "totals { cycles: 900 }";
  constexpr char kTable[] = "layers of the table";
  constexpr char kSame[] = "same data and calibration";
  constexpr char kMeasure[] = "edgekiln validate";
  constexpr char kAccept[] = "report baseline";
  const struct {
    std::string a;
    std::string b;
    std::set<std::string> parts;
  } kCases[] = {
      {accuracy, accuracy + slower, {kTable, kAccept}},
      {accuracy, worse, {kSame, kAccept}},
      {accuracy, worse + slower, {kTable, kSame, kAccept}},
      {accuracy, "", {kMeasure}},
      {"", "", {kMeasure}},
      {"", slower, {kTable, kMeasure, kAccept}},
  };
  for (const auto& test : kCases) {
    SCOPED_TRACE(test.a + " | " + test.b);
    const absl::Status status =
        Check(Report(test.a), Report(test.b),
              {.max_percent = 2, .max_accuracy_drop = 1});
    ASSERT_FALSE(status.ok());
    const std::string fix = GetErrorDetail(status)->fix;
    for (const char* part : {kTable, kSame, kMeasure, kAccept}) {
      EXPECT_EQ(absl::StrContains(fix, part), test.parts.count(part) > 0)
          << part << " in: " << fix;
    }
  }
}

}  // namespace
}  // namespace edgekiln::client
