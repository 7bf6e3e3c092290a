// The commands that only ask, against a scripted daemon.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "base/error.h"
#include "client/commands/inspect.h"
#include "client/commands/jobs.h"
#include "client/commands/report.h"
#include "client/commands/targets.h"
#include "client/exit_code.h"
#include "client/testing/commands_fixture.h"

namespace edgekiln::client {
namespace {

TEST_F(CommandsTest, Inspect) {
  ASSERT_TRUE(Run(RunInspect, {"inspect", model_, "--target", "t"}).ok());
  EXPECT_EQ(connection_.inspected.model_name(), "net.tflite");
  EXPECT_EQ(connection_.inspected.target().name(), "t");
  EXPECT_NE(out_.find("described"), std::string::npos);
}

TEST_F(CommandsTest, Targets) {
  ASSERT_TRUE(Run(RunTargetsList, {"targets", "list"}).ok());
  EXPECT_EQ(out_, "TARGET  ABOUT\ndla-64  A chip.\n");
  out_.clear();
  ASSERT_TRUE(Run(RunTargetsShow, {"targets", "show", "dla"}).ok());
  EXPECT_EQ(out_, "name: \"dla\"\n");
  out_.clear();
  const std::string chip = Put("chip.txtpb", "x");
  connection_.validation.set_valid(true);
  connection_.validation.set_name("mine");
  ASSERT_TRUE(Run(RunTargetsCheck, {"targets", "check", chip}).ok());
  EXPECT_EQ(out_, chip + ": valid target 'mine'\n");
  connection_.validation.set_valid(false);
  connection_.validation.mutable_problem()->set_fault(v1::ErrorDetail::USER);
  connection_.validation.mutable_problem()->set_what("unknown key");
  EXPECT_EQ(ExitCodeFor(Run(RunTargetsCheck, {"targets", "check", chip})),
            ExitCode::kModel);
}

TEST_F(CommandsTest, JobsListPagesAndCancelReports) {
  ASSERT_TRUE(Run(RunJobsList, {"jobs", "list", "--limit", "5"}).ok());
  EXPECT_EQ(connection_.listed.size(), 3u);
  EXPECT_EQ(connection_.listed[1].page_token(), "more");
  EXPECT_EQ(connection_.listed[2].page_size(), 1);
  const std::vector<std::string> lines = absl::StrSplit(out_, '\n');
  EXPECT_EQ(lines.size(), 1u + 5u + 1u);
  out_.clear();
  ASSERT_TRUE(Run(RunJobsCancel, {"jobs", "cancel", "7", "8"}).ok());
  EXPECT_EQ(connection_.cancelled, (std::vector<std::string>{"7", "8"}));
  EXPECT_EQ(out_, "7  succeeded\n7  succeeded\n");
}

TEST_F(CommandsTest, ReportDiffComparesJobsAndFiles) {
  connection_.reports = {NewReport("a"), NewReport("b")};
  connection_.reports[1].mutable_totals()->set_cycles(10);
  connection_.job.set_reports(2);
  // Which of the two?
  absl::Status status = Run(RunReportDiff, {"report", "diff", "7", "7"});
  EXPECT_EQ(ExitCodeFor(status), ExitCode::kUsage) << status;
  EXPECT_NE(status.message().find("a, b"), absl::string_view::npos) << status;
  status = Run(RunReportDiff, {"report", "diff", "7", "7", "--target", "a",
                               "--target", "none"});
  EXPECT_EQ(ExitCodeFor(status), ExitCode::kUsage) << status;
  ASSERT_TRUE(Run(RunReportDiff, {"report", "diff", "7", "7", "--target", "a",
                                  "--target", "b"})
                  .ok());
  EXPECT_NE(out_.find("unequal targets: a and b"), std::string::npos) << out_;
  EXPECT_NE(out_.find("+100.0"), std::string::npos) << out_;

  out_.clear();
  connection_.reports.pop_back();
  connection_.job.set_reports(1);
  const std::string file =
      Put("old.json", "{\"totals\": {\"cycles\": 4}, \"target_name\": \"a\"}");
  status = Run(RunReportDiff, {"report", "diff", file, "7", "--json",
                               "--max-regression", "10"});
  EXPECT_EQ(ExitCodeFor(status), ExitCode::kGate) << status;
  EXPECT_NE(out_.find("\"percent\": 25"), std::string::npos) << out_;
}

TEST_F(CommandsTest, ReportDiffOfNothing) {
  const absl::Status missing =
      Run(RunReportDiff, {"report", "diff", folder_ + "/none.json", "7"});
  EXPECT_EQ(ExitCodeFor(missing), ExitCode::kUsage) << missing;
  const absl::Status empty = Run(RunReportDiff, {"report", "diff", "7", "7"});
  EXPECT_EQ(ExitCodeFor(empty), ExitCode::kUsage) << empty;
  // What went wrong then is said again.
  const std::string failed =
      Put("failed.json",
          "{\"error\": {\"fault\": \"USER\", \"what\": \"does not fit\"}}");
  const absl::Status status =
      Run(RunReportDiff, {"report", "diff", failed, failed});
  EXPECT_EQ(ExitCodeFor(status), ExitCode::kModel) << status;
}

TEST_F(CommandsTest, JobsWatchHasTheJobsOutcome) {
  connection_.job.set_state(v1::CANCELLED);
  EXPECT_EQ(ExitCodeFor(Run(RunJobsWatch, {"jobs", "watch", "7"})),
            ExitCode::kInterrupted);
  connection_.job.set_state(v1::SUCCEEDED);
  connection_.reports = {NewReport("a")};
  EXPECT_TRUE(Run(RunJobsWatch, {"jobs", "watch", "7"}).ok());
}

}  // namespace
}  // namespace edgekiln::client
