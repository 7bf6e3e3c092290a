#include "client/command_line.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/error.h"
#include "client/exit_code.h"
#include "client/help.h"

namespace edgekiln::client {
namespace {

std::vector<std::string> Split(const std::string& text) {
  return absl::StrSplit(text, ' ', absl::SkipEmpty());
}

// What a test can compare in one go.
std::string Describe(const CommandLine& line) {
  std::vector<std::string> parts = {
      std::to_string(static_cast<int>(line.command))};
  const auto add = [&](const std::string& name, const std::string& value) {
    if (!value.empty()) parts.push_back(name + "=" + value);
  };
  add("server", line.server);
  add("json", line.json ? "1" : "");
  add("quiet", line.quiet ? "1" : "");
  add("timeout", line.timeout == absl::InfiniteDuration()
                     ? ""
                     : absl::FormatDuration(line.timeout));
  add("model", line.model);
  add("targets", absl::StrJoin(line.targets, "|"));
  add("data", line.data);
  add("calibration", line.calibration);
  add("output", line.output);
  add("inputs",
      line.transforms.empty() ? "" : std::to_string(line.transforms.size()));
  add("method", line.calibration_method.has_value()
                    ? line.calibration_method->ShortDebugString()
                    : "");
  add("seed", line.seed.has_value() ? std::to_string(*line.seed) : "");
  add("limit", line.limit.has_value() ? std::to_string(*line.limit) : "");
  add("label_offset",
      line.label_offset == 0 ? "" : std::to_string(line.label_offset));
  add("names", absl::StrJoin(line.names, "|"));
  add("slot", line.slot);
  add("bind", absl::StrJoin(line.dimensions, "|",
                            [](std::string* out, const auto& dimension) {
                              absl::StrAppend(out, dimension.name(), ":",
                                              dimension.extent());
                            }));
  const auto files = [&](const std::string& name,
                         const std::vector<NamedFile>& list) {
    add(name, absl::StrJoin(list, "|", [](std::string* out, const auto& file) {
          absl::StrAppend(out, file.name, ":", file.path);
        }));
  };
  files("bind_input", line.bound_inputs);
  files("external", line.external_data);
  const auto span = [&](const std::string& name, absl::Duration value) {
    if (value != absl::InfiniteDuration()) {
      add(name, absl::FormatDuration(value));
    }
  };
  span("queue", line.queue_timeout);
  span("run", line.run_timeout);
  add("timing_only", line.timing_only ? "1" : "");
  add("max_regression", line.max_regression_percent.has_value()
                            ? absl::StrCat(*line.max_regression_percent)
                            : "");
  return absl::StrJoin(parts, " ");
}

struct Case {
  std::string args;
  Command command;
  std::string want;  // Describe() without the command.
};

TEST(ParseCommandLineTest, Accepts) {
  const Case cases[] = {
      {"inspect m", Command::kInspect, "model=m"},
      {"inspect --bind N=2 --bind x:1=3 --bind-input s=s.npy --external-data "
       "d/w.bin m",
       Command::kInspect,
       "model=m bind=N:2|x:1:3 bind_input=s:s.npy external=w.bin:d/w.bin"},
      {"profile m --target t --timing-only", Command::kProfile,
       "model=m targets=t timing_only=1"},
      {"compile m --target t --supersede k --queue-timeout 2s",
       Command::kCompile, "model=m targets=t slot=k queue=2s"},
      {"validate m --target t --data d --run-timeout 1m", Command::kValidate,
       "model=m targets=t data=d run=1m"},
      {"report diff 1 b.json", Command::kReportDiff, "names=1|b.json"},
      {"report diff 1 1 --target x --target y --max-regression 2.5",
       Command::kReportDiff, "targets=x|y names=1|1 max_regression=2.5"},
      {"inspect m --target t --json", Command::kInspect,
       "json=1 model=m targets=t"},
      {"compile --target t m -o out", Command::kCompile,
       "model=m targets=t output=out"},
      {"compile m --target a --target=b", Command::kCompile,
       "model=m targets=a|b"},
      {"profile --target t m --seed 7 --limit 3 --timeout 1m",
       Command::kProfile, "timeout=1m model=m targets=t seed=7 limit=3"},
      {"--server h:1 --quiet profile m --target t", Command::kProfile,
       "server=h:1 quiet=1 model=m targets=t"},
      {"profile m --target t --calibration-method minmax --calibration c",
       Command::kProfile,
       "model=m targets=t calibration=c method=method: MIN_MAX"},
      {"compile m --target t --calibration c --input scale=1",
       Command::kCompile, "model=m targets=t calibration=c inputs=1"},
      {"validate m --target t --data i,l --input scale=1 --input b:scale=2",
       Command::kValidate, "model=m targets=t data=i,l inputs=2"},
      {"run m --data d -o o", Command::kRun, "model=m data=d output=o"},
      // A model without inputs.
      {"run m -o o --limit 3", Command::kRun, "model=m output=o limit=3"},
      {"validate m --target t", Command::kValidate, "model=m targets=t"},
      {"profile m --target t --limit 1", Command::kProfile,
       "model=m targets=t limit=1"},
      {"validate m --target t --data d --label-offset 1", Command::kValidate,
       "model=m targets=t data=d label_offset=1"},
      {"validate m --target t --data d --label-offset -1", Command::kValidate,
       "model=m targets=t data=d label_offset=-1"},
      {"run m --data d --output o --target t", Command::kRun,
       "model=m targets=t data=d output=o"},
      {"targets list", Command::kTargetsList, ""},
      {"targets show dla --json", Command::kTargetsShow, "json=1 names=dla"},
      {"targets check f", Command::kTargetsCheck, "names=f"},
      {"jobs list --limit 5", Command::kJobsList, "limit=5"},
      {"jobs show 1", Command::kJobsShow, "names=1"},
      {"jobs watch 1 --server unix:/s", Command::kJobsWatch,
       "server=unix:/s names=1"},
      {"jobs cancel 1 2", Command::kJobsCancel, "names=1|2"},
  };
  for (const Case& c : cases) {
    const auto line = ParseCommandLine(Split(c.args));
    ASSERT_TRUE(line.ok()) << c.args << ": " << line.status();
    std::string want = std::to_string(static_cast<int>(c.command));
    if (!c.want.empty()) want += " " + c.want;
    EXPECT_EQ(Describe(*line), want) << c.args;
  }
}

struct Refusal {
  std::string args;
  std::string what;  // Prefix.
  std::string fix;   // Part.
};

TEST(ParseCommandLineTest, Refuses) {
  const Refusal cases[] = {
      {"", "no command was given", "edgekiln --help"},
      {"profle m", "unknown command 'profle'", "did you mean profile?"},
      {"targets lst", "unknown command 'lst'", "did you mean list?"},
      {"targets", "no command was given", "edgekiln targets --help"},
      {"profile m --taget t", "unknown option '--taget'",
       "did you mean --target?"},
      {"profile m --target t --frobnicate=3", "unknown option '--frobnicate'",
       "see edgekiln profile --help"},
      {"inspect m --seed 3", "unknown option '--seed'", "inspect --help"},
      {"--jsn inspect m", "unknown option '--jsn'", "did you mean --json?"},
      {"profile m", "--target is required", "profile --help"},
      {"run m --data d", "--output is required", "run --help"},
      {"inspect", "MODEL is required", "inspect --help"},
      {"inspect a b", "unexpected argument 'b'", "inspect --help"},
      {"inspect m --target a --target b", "only one --target", "one"},
      {"run m --data d -o o --target a --target b", "only one --target", "one"},
      {"profile m --target t --limit 0", "--limit must be at least 1", ""},
      {"profile m --target t --max-cycles -1", "a limit below 0", "at most"},
      {"profile m --target t --max-ram -1", "a limit below 0", "at most"},
      {"validate m --target t --data d --min-accuracy 83",
       "an accuracy of 83 is none", ""},
      {"profile m --target t --min-accuracy 0.5", "unknown option", ""},
      {"profile m --target t --limit x", "'x' is not a whole number",
       "profile --help"},
      {"profile m --target t --max-cycles 1e3", "'1e3' is not a whole number",
       "profile --help"},
      {"validate m --target t --data d --label-offset 9999999",
       "an offset of 9999999 is out of range", "ImageNet"},
      {"validate m --target t --data d --label-offset x",
       "'x' is not a whole number", ""},
      {"profile m --target t --label-offset 1", "unknown option", ""},
      {"validate m --target t --data d --min-accuracy x", "'x' is not a number",
       "validate --help"},
      {"profile m --target t --seed -1", "'-1' is not a seed", ""},
      {"profile m --target t --timeout never", "'never' is not a time", "30s"},
      {"compile m --target t --run-timeout never", "'never' is not a time",
       "--run-timeout 30s"},
      {"profile m --target t --input scale=1 --input scale=2",
       "two --input options for the same input", ""},
      {"profile m --target t --input scale=1",
       "--input needs --data or --calibration", "leave --input out"},
      {"profile m --target t --calibration-method best",
       "'best' is not a calibration method", "percentile"},
      {"profile m --target", "--target", ""},
      {"jobs show", "ID is required", ""},
      {"jobs show 1 2", "unexpected argument '2'", ""},
      {"report", "no command was given", "edgekiln report --help"},
      {"report diff 1", "B is required", "report diff --help"},
      {"report diff 1 2 3", "unexpected argument '3'", "report diff --help"},
      {"report diff 1 2 --max-regression -1", "a regression below 0 %", ""},
      {"report diff 1 2 --max-regression nan", "a regression below 0 %", ""},
      {"report diff 1 2 --target a --target b --target c",
       "two reports have two targets", "once or twice"},
      {"profile m --target t --timing-only --limit 3",
       "--timing-only computes no values", "leave"},
      {"validate m --target t --data d --timing-only", "unknown option", ""},
  };
  for (const Refusal& c : cases) {
    const auto line = ParseCommandLine(Split(c.args));
    ASSERT_FALSE(line.ok()) << c.args;
    EXPECT_EQ(ExitCodeFor(line.status()), ExitCode::kUsage) << c.args;
    const auto detail = GetErrorDetail(line.status());
    ASSERT_TRUE(detail.has_value()) << c.args;
    EXPECT_EQ(detail->what.substr(0, c.what.size()), c.what) << c.args;
    EXPECT_NE(detail->fix.find(c.fix), std::string::npos)
        << c.args << ": " << detail->fix;
    EXPECT_NE(detail->where, "") << c.args;
    EXPECT_NE(detail->fix, "") << c.args;
  }
}

TEST(ParseCommandLineTest, EveryCommandHasHelpThatFitsATerminal) {
  for (const char* command :
       {"", "inspect", "compile", "profile", "validate", "run", "targets",
        "targets list", "targets show", "targets check", "jobs", "jobs list",
        "jobs show", "jobs watch", "jobs cancel", "report", "report diff"}) {
    std::vector<std::string> args = Split(command);
    args.push_back("--help");
    const auto line = ParseCommandLine(args);
    ASSERT_TRUE(line.ok()) << command << ": " << line.status();
    EXPECT_EQ(line->command, Command::kHelp) << command;
    EXPECT_NE(line->text.find("Usage: edgekiln"), std::string::npos) << command;
    for (const std::string& text : Split(command)) {
      EXPECT_NE(line->text.find(text), std::string::npos) << command;
    }
    const std::vector<std::string> lines = absl::StrSplit(line->text, '\n');
    for (const std::string& text : lines) {
      EXPECT_LE(text.size(), 80u) << command << ": " << text;
    }
    // The whole program's examples are not those of a group of commands.
    EXPECT_EQ(absl::StrContains(line->text, "Exit codes:"), args.size() == 1)
        << command;
    EXPECT_FALSE(absl::StrContains(line->text, " TEXT")) << command;
  }
}

TEST(ParseCommandLineTest, Version) {
  const auto line = ParseCommandLine({"--version"});
  ASSERT_TRUE(line.ok()) << line.status();
  EXPECT_EQ(line->command, Command::kVersion);
  EXPECT_EQ(line->text, VersionText() + "\n");
}

}  // namespace
}  // namespace edgekiln::client
