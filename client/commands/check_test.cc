// `check` against a scripted daemon.

#include "client/commands/check.h"

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "client/baseline.h"
#include "client/check/project.h"
#include "client/error_detail.h"
#include "client/exit_code.h"
#include "client/testing/commands_fixture.h"

namespace edgekiln::client {
namespace {

class CheckCommandTest : public CommandsTest {
 protected:
  CheckCommandTest() {
    project_ = Put("edgekiln.txtpb",
                   "groups {\n"
                   "  models { file: 'net.tflite' }\n"
                   "  targets { name: 'chip' }\n"
                   "  targets { name: 'other' }\n"
                   "  gates { max_cycles: 100 }\n"
                   "}\n"
                   "regression { max_cycles_growth: 5 }\n");
    whole_ = NewReport("chip");
    whole_.mutable_totals()->set_cycles(50);
    v1::Report::Layer& layer = *whole_.add_layers();
    layer.set_id("conv1");
    layer.set_cycles(50);
    SetCycles(50);
    AddRow("state: DONE target: 'chip'");
    AddRow("state: DONE target: 'other'");
  }

  // Of both cells.
  void SetCycles(int64_t cycles) {
    whole_.mutable_totals()->set_cycles(cycles);
    whole_.mutable_layers(0)->set_cycles(cycles);
    connection_.reports = {whole_};
    for (v1::JobEvent& event : connection_.events) {
      if (!event.row().has_report()) continue;
      event.mutable_row()->mutable_report()->mutable_totals()->set_cycles(
          cycles);
    }
  }
  v1::SweepRow& AddRow(const std::string& text) {
    v1::SweepRow& row = *connection_.events.emplace_back().mutable_row();
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &row));
    row.set_cell(static_cast<int>(connection_.events.size()) - 1);
    row.set_model("net");
    row.set_recipe("default");
    row.set_job("j");
    if (row.state() == v1::SweepRow::DONE) {
      *row.mutable_report() = whole_;
      row.mutable_report()->clear_layers();
    }
    return row;
  }
  ExitCode Check(std::vector<std::string> more = {}) {
    std::vector<std::string> args = {"check", folder_};
    args.insert(args.end(), more.begin(), more.end());
    out_.clear();
    status_ = Run(RunCheck, args);
    return ExitCodeFor(status_);
  }
  bool Says(const std::string& text) { return absl::StrContains(out_, text); }
  std::string Baseline(const std::string& target) {
    return folder_ + "/baselines/net@" + target + ".baseline.json";
  }

  std::string project_;
  v1::Report whole_;
  absl::Status status_;
};

TEST_F(CheckCommandTest, WithoutBaselinesItPassesAndSaysHowToWriteThem) {
  EXPECT_EQ(Check(), ExitCode::kPass) << status_;
  EXPECT_TRUE(Says("2 cells have no baseline")) << out_;
  EXPECT_TRUE(Says("2 cells: 2 passed; baselines: 2 missing")) << out_;
  ASSERT_EQ(connection_.created.sweep().groups_size(), 1);
  EXPECT_EQ(connection_.created.sweep().groups(0).models(0).name(), "net");
  EXPECT_FALSE(
      connection_.created.sweep().groups(0).models(0).digest().hash().empty());
  EXPECT_EQ(connection_.uploaded.size(), 1u);
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/baselines"));
}

TEST_F(CheckCommandTest, WhyAProjectCannotBeReadIsTold) {
  Put("edgekiln.txtpb", std::string(kMaxProjectFileBytes + 1, ' '));
  EXPECT_EQ(Check(), ExitCode::kUsage) << status_;
  EXPECT_TRUE(absl::StrContains(status_.message(), "' is too large; where: "))
      << status_;
  EXPECT_TRUE(absl::StrContains(
      status_.message(),
      absl::StrCat("limit: ", kMaxProjectFileBytes, " bytes; need: ")))
      << status_;
}

TEST_F(CheckCommandTest, BaselinesAreReportsAndLimitLaterOnes) {
  EXPECT_EQ(Check({"--update-baselines"}), ExitCode::kPass) << status_;
  EXPECT_EQ(Get(Baseline("chip")), BaselineJson({whole_}));
  EXPECT_TRUE(Says("2 written")) << out_;
  EXPECT_EQ(Check(), ExitCode::kPass);
  EXPECT_TRUE(Says("baselines: 2 the same")) << out_;
  SetCycles(52);
  EXPECT_EQ(Check(), ExitCode::kPass) << status_;
  EXPECT_TRUE(Says("+4.00 %")) << out_;
  EXPECT_TRUE(Says("  layers that changed:\n    - conv1 +2 cycles\n")) << out_;
  SetCycles(60);
  EXPECT_EQ(Check(), ExitCode::kGate);
  EXPECT_TRUE(
      Says("cycles grew from 50 to 60 (+20.00 %), most in conv1 (+10); "
           "allowed is +5 %"))
      << out_;
  ASSERT_EQ(LinesOf(status_).size(), 2u);
  EXPECT_TRUE(
      absl::StrContains(LinesOf(status_)[0], "net on chip: cycles grew"));
  // Wanted: the budget is judged as always.
  EXPECT_EQ(Check({"--update-baselines"}), ExitCode::kPass);
  SetCycles(101);
  EXPECT_EQ(Check({"--update-baselines"}), ExitCode::kGate);
  EXPECT_TRUE(
      Says("cycles 101, at most 100: 1 too many (+1.0 %), most in "
           "conv1"))
      << out_;
  EXPECT_EQ(Get(Baseline("other")), BaselineJson({whole_}));
}

TEST_F(CheckCommandTest, ABaselineOfACellThatIsGoneIsNamedAndThenRemoved) {
  ASSERT_EQ(Check({"--update-baselines"}), ExitCode::kPass);
  connection_.events.pop_back();
  EXPECT_EQ(Check(), ExitCode::kPass);
  EXPECT_TRUE(Says("net@other.baseline.json is of a cell")) << out_;
  EXPECT_EQ(Check({"--update-baselines"}), ExitCode::kPass);
  EXPECT_EQ(Get(Baseline("other")), "absent");
  EXPECT_NE(Get(Baseline("chip")), "absent");
}

TEST_F(CheckCommandTest, TheWorstOfAllCellsIsTheExitCode) {
  SetCycles(101);
  EXPECT_EQ(Check(), ExitCode::kGate);
  AddRow("state: FAILED target: 'x' error { fault: USER code: 3 what: 'bad' }");
  EXPECT_EQ(Check(), ExitCode::kModel);
  EXPECT_TRUE(Says("3 cells: 2 broken, 1 failed")) << out_;
  AddRow(
      "state: FAILED target: 'y' error { fault: INFRA code: 13 what: 'ours' }");
  EXPECT_EQ(Check(), ExitCode::kInfra);
  EXPECT_TRUE(Says("budget.cycles")) << out_;
}

TEST_F(CheckCommandTest, ARefusedCellIsSkipped) {
  AddRow("state: REFUSED target: 'x' error { what: 'no such recipe' }");
  EXPECT_EQ(Check(), ExitCode::kPass) << status_;
  EXPECT_TRUE(Says("1 skipped")) << out_;
}

// What another cell computed is judged by the limits of its own group.
TEST_F(CheckCommandTest, AMergedCellHasBudgetsOfItsOwn) {
  Put("edgekiln.txtpb",
      "groups { models { file: 'net.tflite' } targets { name: 'chip' } }\n"
      "groups { name: 'tight' models { file: 'net.tflite' }\n"
      "  targets { name: 'chip' } gates { max_cycles: 10 } }");
  AddRow("state: MERGED target: 'chip' group: 1 same_as: 0").clear_job();
  EXPECT_EQ(Check(), ExitCode::kGate);
  EXPECT_TRUE(Says("tight: net on chip")) << out_;
  EXPECT_TRUE(Says("edgekiln.txtpb:3:36")) << out_;
}

TEST_F(CheckCommandTest, AMergedCellFailsWithTheOther) {
  AddRow("state: FAILED target: 'x' error { fault: USER code: 3 what: 'bad' }");
  AddRow("state: MERGED target: 'z' same_as: 2");
  EXPECT_EQ(Check(), ExitCode::kModel);
  EXPECT_TRUE(Says("2 passed, 2 failed")) << out_;
}

TEST_F(CheckCommandTest, OutputsAreWrittenWhateverComesOfIt) {
  const std::string junit = folder_ + "/j.xml";
  const std::string sarif = folder_ + "/s.sarif";
  const std::string markdown = folder_ + "/m.md";
  const std::vector<std::string> all = {"--junit", junit,        "--sarif",
                                        sarif,     "--markdown", markdown};
  const auto check = [&](ExitCode code, const std::string& text) {
    for (const std::string& file : {junit, sarif, markdown}) {
      Put(file.substr(folder_.size() + 1), "old");
    }
    EXPECT_EQ(Check(all), code) << status_;
    for (const std::string& file : {junit, sarif, markdown}) {
      EXPECT_TRUE(absl::StrContains(Get(file), text)) << Get(file);
    }
  };
  check(ExitCode::kPass, "edgekiln check");
  SetCycles(101);
  check(ExitCode::kGate, "1 too many");
  connection_.create_error =
      MakeError(absl::StatusCode::kUnavailable, {.fault = Fault::kInfra,
                                                 .reason = kReasonUnreachable,
                                                 .what = "nobody answers"});
  check(ExitCode::kInfra, "nobody answers");
  connection_.create_error = absl::OkStatus();
  Put("edgekiln.txtpb", "nonsense: 1");
  check(ExitCode::kUsage, "nonsense");
}

TEST_F(CheckCommandTest, WithoutADaemonTheOutputsSayWhy) {
  reachable_ = MakeError(absl::StatusCode::kUnavailable,
                         {.fault = Fault::kInfra,
                          .reason = kReasonUnreachable,
                          .what = "it cannot be started"});
  const std::string junit = folder_ + "/j.xml";
  EXPECT_EQ(Check({"--junit", junit}), ExitCode::kInfra) << status_;
  EXPECT_TRUE(absl::StrContains(Get(junit), "it cannot be started"));
  EXPECT_TRUE(connection_.uploaded.empty());
}

TEST_F(CheckCommandTest, StandardOutputIsOneThing) {
  EXPECT_EQ(Check({"--junit", "-"}), ExitCode::kPass);
  EXPECT_EQ(out_.find("<?xml"), 0u) << out_;
  EXPECT_FALSE(Says("RESULT"));
  EXPECT_EQ(Check({"--json"}), ExitCode::kPass);
  EXPECT_EQ(out_.find("{\n  \"file\":"), 0u) << out_;
  EXPECT_EQ(Check({"--github-annotations"}), ExitCode::kPass);
  // The table is between the first line and the second token.
  const std::string stop = "::stop-commands::";
  ASSERT_EQ(out_.find(stop), 0u) << out_;
  const std::string token =
      out_.substr(stop.size(), out_.find('\n') - stop.size());
  EXPECT_GE(token.size(), 16u);
  const size_t table = out_.find("RESULT");
  const size_t resume = out_.find("\n::" + token + "::\n::notice file=");
  ASSERT_NE(resume, std::string::npos) << out_;
  EXPECT_LT(table, resume) << out_;
  for (const std::vector<std::string>& args :
       std::vector<std::vector<std::string>>{
           {"check", "--json", "--junit", "-"},
           {"check", "--sarif", "-", "--junit", "-"},
           {"check", "--json", "--github-annotations"},
           {"check", "--sarif", "-", "--github-annotations"},
           {"check", "--sarif", "x", "--junit", "x"},
           {"check", "--sarif", "./x", "--junit", "none/../x"},
           {"check", "--sarif", ""},
           {"check", "a", "b"},
           {"init", "a", "b"}}) {
    EXPECT_EQ(ExitCodeFor(ParseCommandLine(args).status()), ExitCode::kUsage);
  }
}

// Services compare it with the paths of a repository.
TEST_F(CheckCommandTest, ThePathOfTheProjectIsNormal) {
  std::filesystem::create_directories(folder_ + "/a/b");
  std::filesystem::create_directory_symlink("a/b", folder_ + "/link");
  const auto file = [&](const std::string& name) {
    out_.clear();
    status_ = Run(RunCheck, {"check", folder_ + name, "--json"});
    return out_.substr(0, out_.find(",\n"));
  };
  const std::string normal =
      "{\n  \"file\": \"" +
      std::filesystem::path(project_).lexically_normal().string() + "\"";
  EXPECT_EQ(file("/./edgekiln.txtpb"), normal);
  EXPECT_EQ(file("//"), normal);
  EXPECT_EQ(file("/a/../."), normal);
  // It is link/.., which is a.
  Put("a/edgekiln.txtpb", "nonsense: 1");
  EXPECT_EQ(file("/link/../edgekiln.txtpb"),
            "{\n  \"file\": \"" + folder_ + "/link/../edgekiln.txtpb\"");
  EXPECT_EQ(ExitCodeFor(status_), ExitCode::kUsage);
}

TEST_F(CheckCommandTest, WhatItCannotReadOrWriteIsAUsageError) {
  EXPECT_EQ(Check({"--junit", folder_ + "/none/j.xml"}), ExitCode::kUsage);
  EXPECT_EQ(Check({"--junit", project_}), ExitCode::kUsage);
  EXPECT_NE(Get(project_), "absent");
  std::filesystem::remove(project_);
  EXPECT_EQ(Check(), ExitCode::kUsage);
  EXPECT_TRUE(absl::StrContains(GetErrorDetail(status_)->fix, "edgekiln init"));
  Put("edgekiln.txtpb",
      "groups { models { file: 'gone.onnx' } targets { name: 't' } }");
  EXPECT_EQ(Check(), ExitCode::kUsage);
  EXPECT_TRUE(absl::StrContains(GetErrorDetail(status_)->what, "gone.onnx"))
      << status_;
  // In the project file, where it can be mended.
  std::filesystem::create_directory(folder_ + "/baselines");
  for (const char* text :
       {"groups {\n models { file: 'net.tflite' data { file: 'no.npz' } }\n"
        " targets { name: 't' } goal: SWEEP_VALIDATE }",
        "groups {\n targets { file: 'no.txtpb' }\n"
        " models { file: 'net.tflite' } }",
        "groups {\n models { file: 'baselines' } targets { name: 't' } }"}) {
    Put("edgekiln.txtpb", text);
    EXPECT_EQ(Check(), ExitCode::kUsage);
    EXPECT_TRUE(
        absl::StrContains(GetErrorDetail(status_)->where, "edgekiln.txtpb:2:2"))
        << status_;
  }
}

// A sweep that ends early: what is known is judged, baselines are left alone.
TEST_F(CheckCommandTest, CellsThatWereOverAreJudged) {
  ASSERT_EQ(Check({"--update-baselines"}), ExitCode::kPass);
  const std::string before = Get(Baseline("chip"));
  SetCycles(101);
  connection_.events.pop_back();
  connection_.on_watch = [this] { clock_.Advance(absl::Hours(2)); };
  EXPECT_EQ(Check({"--update-baselines", "--timeout", "1h", "--json"}),
            ExitCode::kDeadline)
      << status_;
  EXPECT_TRUE(Says("budget.cycles")) << out_;
  EXPECT_TRUE(Says("\"reason\": \"TIMEOUT\"")) << out_;
  EXPECT_TRUE(Says("\"state\": \"CHANGED\"")) << out_;
  EXPECT_FALSE(Says("\"state\": \"WRITTEN\"")) << out_;
  EXPECT_EQ(Get(Baseline("chip")), before);
  EXPECT_NE(Get(Baseline("other")), "absent");
}

// Nor are reports fetched for results that are not written.
TEST_F(CheckCommandTest, AnInterruptedCheckEndsAtOnce) {
  ASSERT_EQ(Check({"--update-baselines"}), ExitCode::kPass);
  connection_.reports_asked = 0;
  connection_.job.set_state(v1::CANCELLED);
  connection_.job.mutable_error()->set_code(1);
  connection_.job.mutable_error()->set_reason(kReasonInterrupted);
  EXPECT_EQ(Check({"--github-annotations"}), ExitCode::kInterrupted) << status_;
  EXPECT_EQ(connection_.reports_asked, 0);
  EXPECT_FALSE(Says("RESULT")) << out_;
  // Whatever follows in the log is obeyed again.
  EXPECT_TRUE(absl::EndsWith(out_, "::\n")) << out_;
}

TEST_F(CheckCommandTest, AServiceThatIsGoneIsAskedOnce) {
  ASSERT_EQ(Check({"--update-baselines"}), ExitCode::kPass);
  connection_.reports.clear();
  connection_.reports_asked = 0;
  connection_.on_watch = [this] { clock_.Advance(absl::Hours(2)); };
  EXPECT_EQ(Check({"--timeout", "1h"}), ExitCode::kDeadline) << status_;
  EXPECT_EQ(connection_.reports_asked, 1);
  EXPECT_TRUE(Says("2 cells: 2 not finished by a fault of the service"))
      << out_;
  EXPECT_TRUE(Says("no report")) << out_;
}

// The service is at fault: try again, the baselines are not.
TEST_F(CheckCommandTest, ValuesThatDifferAreNotABaseline) {
  whole_.mutable_bit_exact()->set_mismatches(2);
  whole_.mutable_bit_exact()->set_outputs_compared(9);
  connection_.reports = {whole_};
  connection_.events.clear();
  AddRow("state: DONE target: 'chip'");
  EXPECT_EQ(Check({"--update-baselines"}), ExitCode::kGate);
  EXPECT_TRUE(Says("values.mismatch")) << out_;
  EXPECT_EQ(Get(Baseline("chip")), "absent");
}

}  // namespace
}  // namespace edgekiln::client
