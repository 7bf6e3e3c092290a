// What commands print at several widths of the window, against a scripted
// daemon. Reports and progress: render/screens_test.cc. EK_UPDATE_GOLDENS=1
// accepts a change.

#include <gtest/gtest.h>
#include <stdlib.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/commands/jobs.h"
#include "client/commands/profile.h"
#include "client/commands/quarantine.h"
#include "client/commands/report.h"
#include "client/commands/targets.h"
#include "client/testing/commands_fixture.h"
#include "tests/support/golden.h"

namespace edgekiln::client {
namespace {

constexpr int kNarrowest = 60;
constexpr int kWidest = 200;

class ScreensOfCommandsTest : public CommandsTest {
 protected:
  ScreensOfCommandsTest() {
    setenv("TZ", "UTC", /*overwrite=*/1);  // Times are shown as local ones.
    const struct {
      const char* id;
      v1::JobState state;
      const char* model;
      std::vector<std::string> targets;
    } jobs[] = {
        {"j660f676cd44a805b", v1::RUNNING, "digits.onnx", {"dla-64-o-512k"}},
        {"j505f711ec9fe106a",
         v1::SUCCEEDED,
         "mobilenet_v1_0.25_224_quantized_int8.tflite",
         {"dla-64-o-512k", "dla-128-o-1m", "toy-array", "toy-two-array"}},
        {"jffffffffffffffff",
         v1::CANCELLED,
         "\xE5\xB1\xA4\xE5\xB1\xA4.onnx",
         {}},
    };
    for (const auto& known : jobs) {
      v1::Job& job = connection_.jobs.emplace_back();
      job.set_id(known.id);
      job.set_state(known.state);
      job.mutable_request()->set_model_name(known.model);
      job.mutable_request()->add_goals(v1::VALIDATE);
      for (const std::string& target : known.targets) {
        job.mutable_request()->add_targets()->set_name(target);
      }
      job.mutable_started()->set_seconds(100);
      job.mutable_finished()->set_seconds(162);
    }
    connection_.recipes.emplace_back().set_name("default");
    connection_.recipes[0].set_doc(
        "Fewest cycles: tensors stay in SRAM and loads run ahead where they "
        "fit");
    v1::QuarantinedStage& stage = *connection_.quarantine.add_stages();
    stage.set_id("0123456789abcdef");
    stage.set_stage("simulate");
    stage.mutable_error()->set_what(
        "the worker was lost three times while it computed this stage");
  }

  using Command = absl::Status (*)(CommandContext&);

  std::string Screen(Command command, const std::vector<std::string>& args,
                     const Style& style) {
    style_ = style;
    out_.clear();
    const absl::Status status = Run(command, args);
    EXPECT_TRUE(status.ok()) << status;
    return out_;
  }
};

TEST_F(ScreensOfCommandsTest, LookAsTheyDid) {
  const struct {
    const char* name;
    Command command;
    std::vector<std::string> args;
  } screens[] = {
      {"jobs_list", RunJobsList, {"jobs", "list"}},
      {"targets_list", RunTargetsList, {"targets", "list"}},
      {"quarantine_list", RunQuarantineList, {"quarantine", "list"}},
  };
  for (const auto& screen : screens) {
    std::string all;
    for (const int width : {60, 80, 120, 200}) {
      absl::StrAppend(
          &all, "=== ", width, "\n",
          Screen(screen.command, screen.args, Style::Of({.width = width})));
    }
    absl::StrAppend(&all, "=== no terminal\n",
                    Screen(screen.command, screen.args, Style::Plain()));
    tests::ExpectMatchesGolden(
        absl::StrCat("client/render/screens/", screen.name, ".golden"), all);
    for (int width = kNarrowest; width <= kWidest; ++width) {
      const std::string text =
          Screen(screen.command, screen.args, Style::Of({.width = width}));
      for (const absl::string_view line : absl::StrSplit(text, '\n')) {
        ASSERT_LE(TextWidth(line), width) << screen.name << ":\n" << line;
      }
    }
  }
}

TEST_F(ScreensOfCommandsTest, StagesAreShownWhereTheyAreAskedFor) {
  v1::Report report = NewReport("a");
  v1::Report::Stage& stage = *report.add_stages();
  stage.set_name("tile");
  stage.set_cache(v1::Report::Stage::HIT);
  connection_.jobs.clear();
  connection_.job.set_reports(1);
  const std::vector<std::string> profile = {"profile", model_, "--target", "a"};
  const struct {
    Command command;
    std::vector<std::string> args;
  } cases[] = {
      {RunProfile, profile},
      {RunJobsShow, {"jobs", "show", "7"}},
      {RunJobsWatch, {"jobs", "watch", "7"}},
      {RunReportShow, {"report", "show", "7"}},
  };
  for (const auto& c : cases) {
    connection_.reports = {report};
    std::vector<std::string> args = c.args;
    EXPECT_EQ(Screen(c.command, args, Style::Plain()).find("STAGE"),
              std::string::npos)
        << out_;
    args.push_back("--stages");
    EXPECT_NE(Screen(c.command, args, Style::Plain())
                  .find("\nSTAGE  CACHE  TIME  CPU\ntile   HIT       -    -\n"),
              std::string::npos)
        << out_;
  }
  // Of several targets those of each.
  connection_.reports = {report, report};
  connection_.reports[1].set_target_name("b");
  const std::string text =
      Screen(RunProfile,
             {"profile", model_, "--target", "a", "--target", "b", "--stages"},
             Style::Plain());
  EXPECT_NE(text.find("\na\nSTAGE"), std::string::npos) << text;
  EXPECT_NE(text.find("\nb\nSTAGE"), std::string::npos) << text;
}

}  // namespace
}  // namespace edgekiln::client
