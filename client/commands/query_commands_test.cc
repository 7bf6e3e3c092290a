// The commands that only ask, against a scripted daemon.

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "base/error.h"
#include "client/commands/inspect.h"
#include "client/commands/jobs.h"
#include "client/commands/quarantine.h"
#include "client/commands/report.h"
#include "client/commands/targets.h"
#include "client/exit_code.h"
#include "client/testing/commands_fixture.h"
#include "edgekiln/v1/target.pb.h"
#include "google/protobuf/text_format.h"
#include "reports/text/json.h"

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

TEST_F(CommandsTest, TargetsSources) {
  const std::string source = Put("my.c", "int x; // \"\\\"\n\nint y;");
  // As an absolute path.
  EXPECT_EQ(ExitCodeFor(Run(RunTargetsSources, {"targets", "sources", source})),
            ExitCode::kUsage);
  const auto here = std::filesystem::current_path();
  std::filesystem::current_path(std::filesystem::path(source).parent_path());
  Put("latin.c", "/* \xe4 */\n");
  Put("my.o", "");
  Put("a b.c", "");
  for (const auto& [path, what] :
       std::vector<std::pair<std::string, std::string>>{
           {"none.c", "does not exist"},
           {"latin.c", "not UTF-8"},
           {"my.o", "not a .c, .h or .S file"},
           {"a b.c", "cannot have this path"},
           {"x/../my.c", "cannot have this path"}}) {
    const absl::Status status =
        Run(RunTargetsSources, {"targets", "sources", path});
    EXPECT_EQ(ExitCodeFor(status), ExitCode::kUsage) << path;
    EXPECT_TRUE(absl::StrContains(status.message(), what)) << status;
  }
  const absl::Status status =
      Run(RunTargetsSources, {"targets", "sources", "my.c", "my.c"});
  std::filesystem::current_path(here);
  ASSERT_TRUE(status.ok()) << status;
  v1::TargetDescriptor descriptor;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(out_, &descriptor));
  ASSERT_EQ(descriptor.c_sources_size(), 2);
  EXPECT_EQ(descriptor.c_sources(0).path(), "my.c");
  EXPECT_EQ(descriptor.c_sources(0).text(), "int x; // \"\\\"\n\nint y;");
}

v1::RecipeInfo Recipe(const std::string& name, const std::string& doc) {
  v1::RecipeInfo info;
  info.set_name(name);
  info.set_doc(doc);
  return info;
}

TEST_F(CommandsTest, TargetsTellTheirRecipes) {
  connection_.recipes = {Recipe("default", "Fast."),
                         Recipe("slow", "Not\033.")};
  ASSERT_TRUE(Run(RunTargetsList, {"targets", "list"}).ok());
  EXPECT_EQ(out_,
            "TARGET  ABOUT\ndla-64  A chip.\n\n"
            "RECIPE   ABOUT\ndefault  Fast.\nslow     Not?.\n");
  out_.clear();
  ASSERT_TRUE(Run(RunTargetsList, {"targets", "list", "--json"}).ok());
  EXPECT_NE(out_.find("\"recipes\""), std::string::npos) << out_;
  EXPECT_NE(out_.find("\"slow\""), std::string::npos) << out_;
  out_.clear();
  const std::string chip = Put("chip.txtpb", "x");
  connection_.validation.set_valid(true);
  connection_.validation.set_name("mine");
  *connection_.validation.add_recipes() = Recipe("default", "Fast.");
  ASSERT_TRUE(Run(RunTargetsCheck, {"targets", "check", chip}).ok());
  EXPECT_EQ(out_, chip +
                      ": valid target 'mine'\n\nRECIPE   ABOUT\n"
                      "default  Fast.\n");
}

TEST_F(CommandsTest, TargetsOfARecipeFoldPresets) {
  connection_.recipes = {Recipe("default", "Fast.")};
  connection_.target_names = {"dla", "dla-1", "dla-2", "toy", "toys"};
  ASSERT_TRUE(Run(RunTargetsList, {"targets", "list"}).ok());
  EXPECT_NE(out_.find("default  Fast.  all\n"), std::string::npos) << out_;
  // Another target has none.
  connection_.without_recipes = "toys";
  out_.clear();
  ASSERT_TRUE(Run(RunTargetsList, {"targets", "list"}).ok());
  EXPECT_NE(out_.find("default  Fast.  dla, dla-*, toy\n"), std::string::npos)
      << out_;
}

TEST_F(CommandsTest, InspectAsksForTheRecipe) {
  connection_.recipes = {Recipe("default", "Fast.")};
  connection_.described_recipe = "slow";
  ASSERT_TRUE(
      Run(RunInspect, {"inspect", model_, "--target", "t", "--recipe", "slow"})
          .ok());
  EXPECT_EQ(connection_.asked_recipe, "slow");
  EXPECT_EQ(connection_.inspected.recipe(), "slow");
  EXPECT_NE(out_.find("recipe slow"), std::string::npos) << out_;
  // A descriptor file, and a daemon that does not know the field.
  connection_.described_recipe = "";
  const std::string chip = Put("chip.txtpb", "x");
  EXPECT_EQ(GetErrorDetail(Run(RunInspect, {"inspect", model_, "--target", chip,
                                            "--recipe", "slow"}))
                ->reason,
            "RECIPES_UNSUPPORTED");
}

TEST_F(CommandsTest, JobsListFindsWhatTheFilterFits) {
  for (int i = 0; i < 6; ++i) {
    v1::Job& job = connection_.jobs.emplace_back();
    job.set_id(absl::StrCat("j", i));
    job.set_state(i % 2 == 0 ? v1::SUCCEEDED : v1::FAILED);
    *job.mutable_created() = connection_.job.created();
  }
  ASSERT_TRUE(
      Run(RunJobsList, {"jobs", "list", "--state", "failed", "--limit", "2"})
          .ok());
  EXPECT_NE(out_.find("j1 "), std::string::npos) << out_;
  EXPECT_NE(out_.find("j3 "), std::string::npos);
  EXPECT_EQ(out_.find("j0 "), std::string::npos);
  EXPECT_EQ(out_.find("j5 "), std::string::npos) << "beyond --limit";
  out_.clear();
  ASSERT_TRUE(Run(RunJobsList, {"jobs", "list", "--model", "none"}).ok());
  EXPECT_EQ(out_, "no such job\n");
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

TEST_F(CommandsTest, JobsListFitsTheWindow) {
  v1::Job& job = connection_.jobs.emplace_back();
  job.set_id("j505f711ec9fe106a");
  job.set_state(v1::SUCCEEDED);
  job.mutable_request()->set_model_name(std::string(100, 'm'));
  job.mutable_request()->add_targets()->set_name(std::string(100, 't'));
  for (int width = 60; width <= 200; ++width) {
    style_ = Style::Terminal(width);
    out_.clear();
    ASSERT_TRUE(Run(RunJobsList, {"jobs", "list", "--limit", "1"}).ok());
    const std::vector<std::string> lines = absl::StrSplit(out_, '\n');
    // A whole id, and something of the model.
    EXPECT_EQ(lines[1].find("j505f711ec9fe106a  succeeded  "), 0u) << lines[1];
    EXPECT_NE(lines[1].find("mmmm"), std::string::npos) << lines[1];
    EXPECT_LE(TextWidth(lines[1]), width);
  }
}

TEST_F(CommandsTest, QuarantineListsAndReleases) {
  v1::QuarantinedStage& stage = *connection_.quarantine.add_stages();
  stage.set_id("0123456789abcdef");
  stage.set_stage("tile");
  stage.mutable_error()->set_what("it failed\n2 times");
  ASSERT_TRUE(Run(RunQuarantineList, {"quarantine", "list"}).ok());
  EXPECT_NE(out_.find("0123456789ab "), std::string::npos) << out_;
  EXPECT_NE(out_.find("tile"), std::string::npos) << out_;
  EXPECT_EQ(out_.find("failed\n2"), std::string::npos) << out_;
  out_.clear();
  ASSERT_TRUE(Run(RunQuarantineList, {"quarantine", "list", "--json"}).ok());
  EXPECT_NE(out_.find("\"0123456789abcdef\""), std::string::npos) << out_;
  out_.clear();
  ASSERT_TRUE(
      Run(RunQuarantineRelease, {"quarantine", "release", "0123", "4567"})
          .ok());
  EXPECT_EQ(connection_.released, (std::vector<std::string>{"0123", "4567"}));
  EXPECT_EQ(out_,
            "0123456789ab  tile  released\n0123456789ab  tile  released\n");
  connection_.quarantine.Clear();
  EXPECT_FALSE(
      Run(RunQuarantineRelease, {"quarantine", "release", "0123"}).ok());
}

TEST_F(CommandsTest, ReportShowPrintsJobsAndFiles) {
  connection_.reports = {NewReport("a"), NewReport("b")};
  connection_.job.set_reports(2);
  ASSERT_TRUE(Run(RunReportShow, {"report", "show", "7"}).ok());
  EXPECT_NE(out_.find("on 2 targets\n"), std::string::npos) << out_;
  EXPECT_NE(out_.find("\na "), std::string::npos) << out_;
  EXPECT_NE(out_.find("\nb "), std::string::npos) << out_;
  out_.clear();
  ASSERT_TRUE(
      Run(RunReportShow, {"report", "show", "7", "--target", "b"}).ok());
  EXPECT_EQ(out_.find("on a\n"), std::string::npos) << out_;
  EXPECT_NE(out_.find("on b\n"), std::string::npos) << out_;
  // One Report, or a list; a file has them again.
  out_.clear();
  ASSERT_TRUE(
      Run(RunReportShow, {"report", "show", "7", "--target", "b", "--json"})
          .ok());
  EXPECT_EQ(out_, ToJson(NewReport("b")));
  out_.clear();
  ASSERT_TRUE(Run(RunReportShow, {"report", "show", "7", "--json"}).ok());
  EXPECT_EQ(out_[0], '[');
  const std::string file = Put("both.json", out_);
  const std::string both = out_;
  out_.clear();
  ASSERT_TRUE(Run(RunReportShow, {"report", "show", file, "--json"}).ok());
  EXPECT_EQ(out_, both);
}

TEST_F(CommandsTest, ReportShowRefusesAndFails) {
  connection_.reports = {NewReport("a"), NewReport("b")};
  connection_.job.set_reports(2);
  absl::Status status =
      Run(RunReportShow, {"report", "show", "7", "--target", "c"});
  EXPECT_EQ(ExitCodeFor(status), ExitCode::kUsage) << status;
  EXPECT_EQ(GetErrorDetail(status)->need, "one of the targets a, b");
  EXPECT_EQ(out_, "");
  // A target that failed, beside one that did not.
  v1::ErrorDetail& error = *connection_.reports[1].mutable_error();
  error.set_fault(v1::ErrorDetail::USER);
  error.set_what("does not fit");
  status = Run(RunReportShow, {"report", "show", "7"});
  EXPECT_EQ(ExitCodeFor(status), ExitCode::kModel) << status;
  EXPECT_NE(out_.find("does not fit"), std::string::npos) << out_;
  EXPECT_TRUE(
      Run(RunReportShow, {"report", "show", "7", "--target", "a"}).ok());
  // Alone it is the output.
  out_.clear();
  status = Run(RunReportShow, {"report", "show", "7", "--target", "b"});
  EXPECT_EQ(ExitCodeFor(status), ExitCode::kModel) << status;
  EXPECT_EQ(out_, "");
  // A job that runs.
  connection_.job.set_reports(0);
  connection_.job.set_state(v1::RUNNING);
  status = Run(RunReportShow, {"report", "show", "7"});
  EXPECT_EQ(GetErrorDetail(status)->what, "job 7 has no report") << status;
}

TEST_F(CommandsTest, ReportDiffComparesJobsAndFiles) {
  connection_.reports = {NewReport("a"), NewReport("b")};
  connection_.reports[1].mutable_totals()->set_cycles(10);
  connection_.job.set_reports(2);
  absl::Status status =
      Run(RunReportDiff,
          {"report", "diff", "7", "7", "--target", "a", "--target", "none"});
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

  status = Run(RunReportDiff, {"report", "diff", folder_ + "/", file});
  EXPECT_EQ(ExitCodeFor(status), ExitCode::kUsage) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), "/' is a folder;")) << status;
}

TEST_F(CommandsTest, ReportDiffComparesTargetByTarget) {
  connection_.reports = {NewReport("a"), NewReport("b"), NewReport("c")};
  connection_.job.set_reports(3);
  connection_.reports[1].mutable_totals()->set_cycles(10);
  const std::string both = Put("both.json", R"([
      {"totals": {"cycles": 11}, "target_name": "b"},
      {"totals": {"cycles": 4}, "target_name": "a"}])");
  absl::Status status = Run(RunReportDiff, {"report", "diff", "7", both,
                                            "--json", "--max-regression", "5"});
  EXPECT_EQ(ExitCodeFor(status), ExitCode::kGate) << status;
  EXPECT_EQ(GetErrorDetail(status)->what,
            "cycles grew from 10 to 11 (+10.00 %)");
  EXPECT_EQ(GetErrorDetail(status)->where, "7 to " + both + ", b");
  EXPECT_EQ(out_[0], '[');
  out_.clear();
  ASSERT_TRUE(Run(RunReportDiff, {"report", "diff", "7", both}).ok());
  EXPECT_NE(out_.find("only in A, not compared: c"), std::string::npos) << out_;

  // One of the baseline's targets.
  out_.clear();
  const std::string one =
      Put("one.json", R"({"totals": {"cycles": 4}, "target_name": "b"})");
  ASSERT_TRUE(Run(RunReportDiff, {"report", "diff", "7", one, "--json"}).ok());
  EXPECT_EQ(out_[0], '{');
  EXPECT_NE(out_.find("\"change\": -6"), std::string::npos) << out_;

  // Of what has no baseline nothing can be said.
  status = Run(RunReportDiff, {"report", "diff", both, "7"});
  EXPECT_EQ(ExitCodeFor(status), ExitCode::kUsage) << status;
  EXPECT_EQ(GetErrorDetail(status)->what, "'" + both + "' has no report of c");
  EXPECT_EQ(GetErrorDetail(status)->need, "one of the targets a, b");
}

TEST_F(CommandsTest, ReportBaselineHasNothingOfTheRun) {
  v1::Report a = NewReport("a");
  a.add_stages()->set_name("import");
  a.add_gates()->set_name("cycles");
  a.add_layers()->set_id("conv1");
  connection_.reports = {NewReport("b"), a};
  connection_.job.set_reports(2);
  ASSERT_TRUE(Run(RunReportBaseline, {"report", "baseline", "7"}).ok());
  for (const char* field : {"job_id", "stages", "gates"}) {
    EXPECT_EQ(out_.find(field), std::string::npos) << out_;
  }
  // Sorted, whatever the order of --target was.
  EXPECT_LT(out_.find("\"target_name\": \"a\""),
            out_.find("\"target_name\": \"b\""));
  const std::string file = folder_ + "/baseline.json";
  ASSERT_TRUE(
      Run(RunReportBaseline, {"report", "baseline", "7", "-o", file}).ok());
  const std::string baseline = Get(file);
  EXPECT_EQ(out_.find(baseline), 0u) << out_;
  EXPECT_NE(out_.find("wrote " + file), std::string::npos) << out_;

  // Of a file with the same reports the same; `report diff` takes it.
  const v1::Report b = NewReport("b");
  const std::string run = Put("run.json", ToJsonArray({&b, &a}));
  out_.clear();
  ASSERT_TRUE(Run(RunReportBaseline, {"report", "baseline", run}).ok());
  EXPECT_EQ(baseline, out_);
  out_.clear();
  ASSERT_TRUE(Run(RunReportDiff, {"report", "diff", file, "7"}).ok());
  EXPECT_NE(out_.find("on a"), std::string::npos) << out_;
}

TEST_F(CommandsTest, ReportBaselineOfNothing) {
  const std::string failed = Put(
      "failed.json", R"({"error": {"fault": "USER", "what": "does not fit"}})");
  EXPECT_EQ(ExitCodeFor(Run(RunReportBaseline, {"report", "baseline", failed})),
            ExitCode::kModel);
  EXPECT_EQ(ExitCodeFor(Run(RunReportBaseline,
                            {"report", "baseline", folder_ + "/no.json"})),
            ExitCode::kUsage);
  EXPECT_EQ(ExitCodeFor(Run(RunReportBaseline,
                            {"report", "baseline", "7", "-o", folder_})),
            ExitCode::kUsage);
  EXPECT_EQ(out_, "");
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
