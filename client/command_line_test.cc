#include "client/command_line.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
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
  add("document", line.document);
  add("targets", absl::StrJoin(line.targets, "|"));
  add("recipe", line.recipe);
  add("name", line.network_name);
  if (line.offload != v1::OFFLOAD_UNSPECIFIED) {
    add("offload", v1::Offload_Name(line.offload));
  }
  add("data", line.data);
  add("calibration", line.calibration);
  add("output", line.output);
  if (line.export_format != ReportFormat::kJson) {
    add("format", std::to_string(static_cast<int>(line.export_format)));
  }
  add("inputs",
      line.transforms.empty() ? "" : std::to_string(line.transforms.size()));
  add("method", line.calibration_method.has_value()
                    ? line.calibration_method->ShortDebugString()
                    : "");
  add("seed", line.seed.has_value() ? std::to_string(*line.seed) : "");
  add("limit", line.limit.has_value() ? std::to_string(*line.limit) : "");
  add("label_offset",
      line.label_offset == 0 ? "" : std::to_string(line.label_offset));
  const JobFilter& jobs = line.job_filter;
  add("states", absl::StrJoin(jobs.states, "|"));
  add("of_model", jobs.model);
  add("of_target", jobs.target);
  add("since", jobs.since == absl::InfiniteDuration()
                   ? ""
                   : absl::FormatDuration(jobs.since));
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
  add("hot", line.hot ? "1" : "");
  if (line.job_class != v1::JOB_CLASS_UNSPECIFIED) {
    add("class", v1::JobClass_Name(line.job_class));
  }
  if (line.io != v1::IO_FORM_UNSPECIFIED) add("io", v1::IoForm_Name(line.io));
  const auto number = [&](const std::string& name, const auto& value) {
    if (value.has_value()) add(name, absl::StrCat(*value));
  };
  number("max_cycles", line.gates.max_cycles);
  number("max_latency_ms", line.gates.max_latency_ms);
  for (const MemoryLimit& limit : line.gates.max_memory) {
    add("max_memory", absl::StrCat(limit.memory, ":", limit.bytes));
  }
  number("max_ram", line.gates.max_ram_bytes);
  number("min_accuracy", line.gates.min_accuracy);
  number("max_error", line.gates.max_error);
  number("max_disagreement", line.gates.max_disagreement);
  if (line.metric != v1::METRIC_UNSPECIFIED) {
    add("metric", v1::Metric_Name(line.metric));
  }
  add("confusion", line.confusion ? "1" : "");
  number("max_regression", line.regression.max_percent);
  number("max_accuracy_drop", line.regression.max_accuracy_drop);
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
      {"profile m --target t --hot", Command::kProfile,
       "model=m targets=t hot=1"},
      {"profile m --target t --io float", Command::kProfile,
       "model=m targets=t io=IO_FLOAT"},
      {"inspect m --target t --recipe r", Command::kInspect,
       "model=m targets=t recipe=r"},
      {"compile m --target t --target u --recipe r", Command::kCompile,
       "model=m targets=t|u recipe=r"},
      {"compile m --target t --name kws", Command::kCompile,
       "model=m targets=t name=kws"},
      {"compile --from d --target t --io int --offload none", Command::kCompile,
       "document=d targets=t offload=NONE io=IO_INTEGER"},
      {"validate m --target t --data d --metric auc --min-accuracy 0.8",
       Command::kValidate,
       "model=m targets=t data=d min_accuracy=0.8 metric=METRIC_AUC"},
      {"validate m --target t --data d --metric mse --max-error 1e-4 "
       "--max-disagreement 1% --confusion",
       Command::kValidate,
       "model=m targets=t data=d max_error=0.0001 max_disagreement=0.01 "
       "metric=METRIC_MSE confusion=1"},
      {"profile --recipe r --target t m", Command::kProfile,
       "model=m targets=t recipe=r"},
      {"validate m --target t --data d --recipe=r", Command::kValidate,
       "model=m targets=t recipe=r data=d"},
      {"run m --target t --recipe r --data d -o o", Command::kRun,
       "model=m targets=t recipe=r data=d output=o"},
      {"compile m --target t --offload all", Command::kCompile,
       "model=m targets=t offload=ALL"},
      {"profile m --target t --offload=paying", Command::kProfile,
       "model=m targets=t offload=PAYING"},
      {"validate m --target t --data d --offload none", Command::kValidate,
       "model=m targets=t offload=NONE data=d"},
      {"run m --target t --data d -o o --io int", Command::kRun,
       "model=m targets=t data=d output=o io=IO_INTEGER"},
      {"compile m --target t --class batch", Command::kCompile,
       "model=m targets=t class=BATCH"},
      {"profile m --target t --class interactive", Command::kProfile,
       "model=m targets=t class=INTERACTIVE"},
      {"validate m --target t --data d --class ci", Command::kValidate,
       "model=m targets=t data=d class=CI"},
      {"run m --data d -o o --class ci", Command::kRun,
       "model=m data=d output=o class=CI"},
      {"compile m --target t --supersede k --queue-timeout 2s",
       Command::kCompile, "model=m targets=t slot=k queue=2s"},
      {"validate m --target t --data d --run-timeout 1m", Command::kValidate,
       "model=m targets=t data=d run=1m"},
      {"report show 1", Command::kReportShow, "names=1"},
      {"report show 1 --target t --target u --json", Command::kReportShow,
       "json=1 targets=t|u names=1"},
      {"report diff 1 b.json", Command::kReportDiff, "names=1|b.json"},
      {"report diff 1 1 --target x --target y --max-regression 2.5",
       Command::kReportDiff, "targets=x|y names=1|1 max_regression=2.5"},
      {"report diff a b --max-regression 2% --max-accuracy-drop 0.5",
       Command::kReportDiff,
       "names=a|b max_regression=2 max_accuracy_drop=0.5"},
      {"report baseline 42", Command::kReportBaseline, "names=42"},
      {"report html a.json b.json last -o c.html", Command::kReportHtml,
       "output=c.html names=a.json|b.json|last"},
      {"report html a.json --target t --target u", Command::kReportHtml,
       "targets=t|u names=a.json"},
      {"report export a.json --format perfetto -o c", Command::kReportExport,
       "output=c format=4 names=a.json"},
      {"report export 42 --format json", Command::kReportExport, "names=42"},
      {"report baseline a.json -o b.json", Command::kReportBaseline,
       "output=b.json names=a.json"},
      {"compile m --target t --max-cycles 1.5M --max-latency 2ms",
       Command::kCompile,
       "model=m targets=t max_cycles=1500000 max_latency_ms=2"},
      {"profile m --target t --max-memory flash=64KiB --max-memory=sram=40k "
       "--max-ram 4KiB",
       Command::kProfile,
       "model=m targets=t max_memory=flash:65536 max_memory=sram:40000 "
       "max_ram=4096"},
      {"validate m --target t --data d --min-accuracy 95% --max-ram 0",
       Command::kValidate,
       "model=m targets=t data=d max_ram=0 min_accuracy=0.95"},
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
      {"profile m --target t --calibration-method output-mse",
       Command::kProfile, "model=m targets=t method=method: OUTPUT_MSE"},
      {"quantize m --calibration c --data d --compare", Command::kQuantize,
       "model=m data=d calibration=c"},
      {"quantize m --target t --quantization q -o o.onnx", Command::kQuantize,
       "model=m targets=t output=o.onnx"},
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
      {"targets sources a.c b.h", Command::kTargetsSources, "names=a.c|b.h"},
      {"jobs list --limit 5", Command::kJobsList, "limit=5"},
      {"jobs list --state active,failed --model m --target t --since 2h",
       Command::kJobsList, "states=1|2|4 of_model=m of_target=t since=2h"},
      {"jobs show 1", Command::kJobsShow, "names=1"},
      {"jobs watch 1 --server unix:/s", Command::kJobsWatch,
       "server=unix:/s names=1"},
      {"jobs cancel 1 2", Command::kJobsCancel, "names=1|2"},
      {"completion zsh", Command::kCompletion, ""},
      {"man jobs list", Command::kMan, ""},
      {"man edgekiln-jobs-list", Command::kMan, ""},
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
      // Scripts test for a command this way.
      {"profle --help", "unknown command 'profle'", "did you mean profile?"},
      {"nonsense -h", "unknown command 'nonsense'", "see edgekiln --help"},
      {"jobs lst --help", "unknown command 'lst'", "did you mean list?"},
      {"profile m --taget t", "unknown option '--taget'",
       "did you mean --target?"},
      {"profile m --target t --frobnicate=3", "unknown option '--frobnicate'",
       "see edgekiln profile --help"},
      {"inspect m --seed 3", "unknown option '--seed'", "inspect --help"},
      {"--jsn inspect m", "unknown option '--jsn'", "did you mean --json?"},
      {"inspect m --recipe r", "--recipe needs --target", "add --target"},
      {"run m -o o --recipe r", "--recipe needs --target", "add --target"},
      {"run m -o o --offload none", "--offload needs --target", "add --target"},
      {"profile m --target t --offload some",
       "'some' does not say which layers engines get", "leave it out"},
      {"inspect m --target t --offload all", "unknown option '--offload'",
       "inspect --help"},
      {"profile m --target t --recipe=", "--recipe: 1 requi", "profile --help"},
      {"profile m --target t --recipe \033", "'?' is not UTF-8 text", ""},
      {"profile m --target t --recipie r", "unknown option '--recipie'",
       "did you mean --recipe?"},
      {"profile m", "--target is required", "profile --help"},
      {"run m --data d", "--output is required", "run --help"},
      {"inspect", "MODEL is required", "inspect --help"},
      {"compile --target t", "MODEL is required", "compile --help"},
      {"compile m --from d --target t", "MODEL and --from are given",
       "leave one of them out"},
      {"compile --from d", "--target is required", "compile --help"},
      {"compile --from d --target t --calibration c",
       "--calibration is for models", "or give MODEL"},
      {"compile --from d --target t --calibration-method minmax",
       "--calibration-method is for models", ""},
      {"compile --from d --target t --accuracy-budget 1pp",
       "--accuracy-budget needs --calibration", "add --calibration"},
      {"profile m --target t --calibration c --accuracy-budget 0pp",
       "--accuracy-budget must be between 0.0001pp and 100pp, got 0pp",
       "0.5pp"},
      {"profile m --target t --calibration c --accuracy-budget much", "'much'",
       "--accuracy-budget"},
      {"compile --from d --target t --seed 3", "--seed is for models", ""},
      {"compile --from d --target t --input scale=1", "--input is for models",
       ""},
      {"compile --from d --target t --bind N=1", "--bind is for models", ""},
      {"compile --from d --target t --bind-input s=s.npy",
       "--bind-input is for models", ""},
      {"compile --from d --target t --external-data w.bin",
       "--external-data is for models", ""},
      {"profile --from d --target t", "unknown option '--from'",
       "it is an option of edgekiln compile; see"},
      {"inspect a b", "unexpected argument 'b'", "inspect --help"},
      {"inspect m --target a --target b", "only one --target", "one"},
      {"run m --data d -o o --target a --target b", "only one --target", "one"},
      {"profile m --target t --limit 0", "--limit must be at least 1", ""},
      {"profile m --target t --max-cycles -1",
       "--max-cycles must be 0 or more, got -1", "--max-cycles 500000"},
      {"profile m --target t --max-ram -1", "--max-ram must be 0 or more",
       "--max-ram 65536"},
      {"profile m --target t --max-ram big", "'big' is not a number of bytes",
       "--max-ram 65536"},
      {"profile m --target t --max-latency 2", "--max-latency needs a unit",
       "--max-latency 2ms"},
      {"profile m --target t --max-memory 64KiB", "'64KiB' names no memory",
       "--max-memory flash=64KiB"},
      {"profile m --target t --max-memory =64KiB", "'=64KiB' names no memory",
       "flash=64KiB"},
      {"profile m --target t --max-memory ram=x",
       "'x' is not a number of bytes", "--max-memory ram=65536"},
      {"profile m --target t --max-memory a=1 --max-memory a=2",
       "two limits for the memory 'a'", "one of them"},
      {"validate m --target t --data d --min-accuracy 95",
       "--min-accuracy must be between 0 and 1, got 95", "0.95 or 95%"},
      {"validate m --target t --data d --metric f1", "'f1' is not a metric",
       "leave it out"},
      {"validate m --target t --data d --metric top", "'top' is not a metric",
       "did you mean top1?"},
      {"validate m --target t --data d --metric METRIC_AUC",
       "'METRIC_AUC' is not a metric", "leave it out"},
      {"validate m --target t --data d --max-error -1", "'-1' is not an error",
       "--max-error 0.02"},
      {"validate m --target t --data d --max-error nan",
       "'nan' is not an error", "--max-error 0.02"},
      {"validate m --target t --data d --metric auc --max-error 1",
       "--max-error is a limit of the metrics mse and mae", "--min-accuracy"},
      {"validate m --target t --data d --metric mae --min-accuracy 0.5",
       "--min-accuracy is a limit of the metrics top1", "--max-error"},
      {"validate m --target t --data d --metric agreement --min-accuracy 0.5",
       "--min-accuracy is a limit of the metrics top1", "--max-disagreement"},
      {"validate m --target t --data d --max-disagreement 2",
       "--max-disagreement must be between 0 and 1, got 2", "0.95 or 95%"},
      {"profile m --target t --metric top1", "unknown option '--metric'",
       "edgekiln validate"},
      {"sweep m --target t --metric top1", "--metric needs --validate",
       "leave --metric out"},
      {"run m --data d -o o --max-cycles 1", "unknown option", ""},
      {"profile m --target t --min-accuracy 0.5",
       "unknown option '--min-accuracy'",
       "it is an option of edgekiln validate, edgekiln sweep; see edgekiln "
       "profile --help"},
      {"validate m --target t --data d --max-regression=2",
       "unknown option '--max-regression'",
       "it is an option of edgekiln report diff; see"},
      {"profile m --target t --limit x", "'x' is not a whole number",
       "profile --help"},
      {"profile m --target t --max-cycles 1e3",
       "'1e3' is not a number of cycles", "500k"},
      {"validate m --target t --data d --min-accuracy x", "'x' is not a share",
       "95%"},
      {"validate m --target t --data d --label-offset 9999999",
       "an offset of 9999999 is out of range", "ImageNet"},
      {"validate m --target t --data d --label-offset -9223372036854775808",
       "an offset of -9223372036854775808 is out of range", "ImageNet"},
      {"validate m --target t --data d --label-offset x",
       "'x' is not a whole number", ""},
      {"profile m --target t --label-offset 1", "unknown option", ""},
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
      {"quantize m --compare -o o.onnx", "-o does not go with --compare", ""},
      {"quantize m --compare --calibration-method kl",
       "--calibration-method does not go with --compare", ""},
      {"quantize m --target a --target b", "only one --target", ""},
      {"profile m --target", "--target", ""},
      {"jobs show", "ID is required", ""},
      {"jobs show 1 2", "unexpected argument '2'", ""},
      {"report", "no command was given", "edgekiln report --help"},
      {"report show", "SOURCE is required", "report show --help"},
      {"report show 1 2", "unexpected argument '2'", "report show --help"},
      {"report diff 1", "B is required", "report diff --help"},
      {"report diff 1 2 3", "unexpected argument '3'", "report diff --help"},
      {"report diff 1 2 --max-regression -1",
       "--max-regression must be 0 or more, got -1", "2%"},
      {"report diff 1 2 --max-regression nan", "'nan' is not a percentage",
       "2%"},
      {"report diff 1 2 --max-accuracy-drop 200",
       "--max-accuracy-drop must be between 0 and 100, got 200", "0.5"},
      {"report baseline", "SOURCE is required", "report baseline --help"},
      {"report baseline 1 2", "unexpected argument '2'", ""},
      {"report html", "SOURCE is required", "report html --help"},
      {"report html a.json --json", "--json needs -o", "give -o"},
      {"report export 1", "--format is required", "report export --help"},
      {"report export 1 2 --format csv", "unexpected argument '2'", ""},
      {"report export 1 --format pdf", "'pdf' is not a format", ""},
      {"report export 1 --format csv --json", "--json needs -o", "give -o"},
      {"report diff 1 2 --target a --target b --target c",
       "two reports have two targets", "once or twice"},
      {"profile m --target t --class urgent", "'urgent' is not a job class",
       "--class batch"},
      {"inspect m --class ci", "unknown option", ""},
      {"profile m --target t --target u --timeline f",
       "--timeline writes one file", "one target"},
      {"profile m --target t --timing-only --limit 3",
       "--timing-only computes no values", "leave"},
      {"validate m --target t --data d --timing-only", "unknown option", ""},
      {"profile m --target t --hot --timing-only", "--hot shows a run",
       "leave one"},
      {"profile m --target t --hot --compiler none", "--hot shows compiled",
       "leave one"},
      {"compile m --target t --hot", "unknown option", ""},
      {"profile m --target t --follow", "--follow needs --json", "add --json"},
      {"jobs watch 7 --follow", "--follow needs --json", "add --json"},
      {"jobs list --follow", "unknown option '--follow'", ""},
      {"completion fish", "no completion for the shell 'fish'", "bash"},
      {"man jobs lst", "no man page 'edgekiln-jobs-lst'",
       "did you mean edgekiln-jobs-list?"},
      {"man nosuch", "no man page 'edgekiln-nosuch'", "edgekiln man --list"},
      {"man --json", "unknown option '--json'", ""},
      {"jobs list --state done", "'done' is not a state of jobs", "failed"},
      {"jobs list --since yesterday", "'yesterday' is not a time", "30s"},
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

// As a shell passes an unset variable in quotes.
TEST(ParseCommandLineTest, RefusesARecipeWithoutAName) {
  const auto line =
      ParseCommandLine({"profile", "m", "--target", "t", "--recipe", ""});
  const auto detail = GetErrorDetail(line.status());
  ASSERT_TRUE(detail.has_value()) << line.status();
  EXPECT_EQ(detail->what, "the NAME is empty");
  EXPECT_EQ(detail->where, "--recipe");
}

TEST(ParseCommandLineTest, RefusesAQuantizationWithoutAFile) {
  const auto line = ParseCommandLine({"quantize", "m", "--quantization", ""});
  const auto detail = GetErrorDetail(line.status());
  ASSERT_TRUE(detail.has_value()) << line.status();
  EXPECT_EQ(detail->what, "the FILE is empty");
  EXPECT_EQ(detail->where, "--quantization");
}

TEST(ParseCommandLineTest, EveryCommandHasHelpThatFitsATerminal) {
  for (const char* command : {"",
                              "inspect",
                              "compile",
                              "profile",
                              "validate",
                              "run",
                              "targets",
                              "targets list",
                              "targets show",
                              "targets check",
                              "jobs",
                              "jobs list",
                              "jobs show",
                              "jobs watch",
                              "jobs cancel",
                              "quarantine",
                              "quarantine list",
                              "quarantine release",
                              "top",
                              "report",
                              "report show",
                              "report diff",
                              "report baseline",
                              "report html",
                              "report export",
                              "lsp",
                              "completion",
                              "man"}) {
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

TEST(ParseCommandLineTest, TheServerOfTheEnvironmentIsADefault) {
  struct {
    const char* args;
    const char* variable;
    const char* want;
    bool from_variable;
  } const cases[] = {
      {"targets list", "", "", false},
      {"targets list", "h:1", "h:1", true},
      {"targets list --server g:2", "h:1", "g:2", false},
      {"--server g:2 targets list", "h:1", "g:2", false},
  };
  for (const auto& c : cases) {
    const auto line = ParseCommandLine(Split(c.args), {.server = c.variable});
    ASSERT_TRUE(line.ok()) << c.args << ": " << line.status();
    EXPECT_EQ(line->server, c.want) << c.args;
    EXPECT_EQ(line->server_from_variable, c.from_variable) << c.args;
  }
  // Given and empty: the user's own daemon, whatever the variable says.
  const auto own =
      ParseCommandLine({"targets", "list", "--server", ""}, {.server = "h:1"});
  ASSERT_TRUE(own.ok()) << own.status();
  EXPECT_EQ(own->server, "");
}

TEST(ParseCommandLineTest, Version) {
  const auto line = ParseCommandLine({"--version"});
  ASSERT_TRUE(line.ok()) << line.status();
  EXPECT_EQ(line->command, Command::kVersion);
  EXPECT_EQ(line->text, VersionText() + "\n");
  for (const std::vector<std::string>& args :
       {std::vector<std::string>{"--version", "--json"},
        {"--json", "--version"}}) {
    const auto json = ParseCommandLine(args);
    ASSERT_TRUE(json.ok()) << json.status();
    EXPECT_EQ(json->command, Command::kVersion);
    EXPECT_EQ(
        "edgekiln " + std::string(absl::StripSuffix(
                          absl::StripPrefix(json->text, "{\n \"version\": \""),
                          "\"\n}\n")),
        VersionText());
  }
}

}  // namespace
}  // namespace edgekiln::client
