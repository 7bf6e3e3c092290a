#include "client/command_line.h"

#include <CLI/CLI.hpp>
#include <functional>
#include <set>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/quantity.h"
#include "base/status_macros.h"
#include "client/check/check_options.h"
#include "client/exit_code.h"
#include "client/help.h"
#include "client/option_checks.h"
#include "client/option_definitions.h"
#include "client/option_values.h"
#include "client/parse_error.h"
#include "client/self_description.h"
#include "client/sweep_options.h"
#include "client/text_arguments.h"

namespace edgekiln::client {
namespace {

// No classifier has more classes.
constexpr int64_t kMaxLabelOffset = 1'000'000;

CommandLine TextOnly(Command command, std::string text) {
  CommandLine line;
  line.command = command;
  line.text = std::move(text);
  return line;
}

absl::Status SetTimeout(const std::string& text, absl::string_view option,
                        absl::Duration& timeout) {
  if (text.empty()) return absl::OkStatus();
  EK_ASSIGN_OR_RETURN(timeout, ParseTimeout(text, option));
  return absl::OkStatus();
}

absl::Status SetBindings(RawOptions& raw) {
  for (const std::string& text : raw.dimensions) {
    EK_ASSIGN_OR_RETURN(v1::DimensionBinding dimension,
                        ParseDimensionBinding(text));
    raw.line.dimensions.push_back(std::move(dimension));
  }
  for (const std::string& text : raw.bound_inputs) {
    EK_ASSIGN_OR_RETURN(NamedFile file,
                        ParseNamedFile(text, "--bind-input", false));
    raw.line.bound_inputs.push_back(std::move(file));
  }
  for (const std::string& text : raw.external_data) {
    EK_ASSIGN_OR_RETURN(NamedFile file,
                        ParseNamedFile(text, "--external-data", true));
    raw.line.external_data.push_back(std::move(file));
  }
  return absl::OkStatus();
}

absl::Status SetTransforms(const RawOptions& raw, const std::string& command,
                           CommandLine& line) {
  std::set<std::string> inputs;
  for (const std::string& text : raw.inputs) {
    EK_ASSIGN_OR_RETURN(v1::InputTransform transform,
                        ParseInputTransform(text));
    if (!inputs.insert(transform.input()).second) {
      return UsageError("two --input options for the same input",
                        absl::StrCat("--input '", text, "'"), "",
                        "write one --input with all its keys");
    }
    line.transforms.push_back(std::move(transform));
  }
  // Synthetic inputs are made in the network's own scale.
  if (!inputs.empty() && line.data.empty() && line.calibration.empty()) {
    return UsageError("--input needs --data or --calibration", command,
                      "stored samples to apply it to",
                      "give one of them, or leave --input out");
  }
  return absl::OkStatus();
}

absl::StatusOr<uint64_t> ParseSeed(const std::string& text) {
  uint64_t seed = 0;
  // CLI11 would take -1 for the largest seed.
  if (absl::SimpleAtoi(text, &seed)) return seed;
  return UsageError(absl::StrCat("'", text, "' is not a seed"), "--seed",
                    "a whole number from 0 to 2^64-1",
                    "write for example --seed 7");
}

// The value of an option that was given into `out`.
template <typename Parsed, typename Value>
absl::Status SetQuantity(const std::string& text, absl::string_view option,
                         absl::StatusOr<Parsed> (*parse)(absl::string_view,
                                                         absl::string_view),
                         std::optional<Value>& out) {
  EK_ASSIGN_OR_RETURN(out, parse(text, option));
  return absl::OkStatus();
}

absl::Status SetMemoryLimits(const RawOptions& raw, Gates& gates) {
  std::set<std::string> seen;
  for (const std::string& text : raw.max_memory) {
    EK_ASSIGN_OR_RETURN(MemoryLimit limit, ParseMemoryLimit(text));
    if (!seen.insert(limit.memory).second) {
      return UsageError(
          absl::StrCat("two limits for the memory '", limit.memory, "'"),
          "--max-memory", "", "give one of them");
    }
    gates.max_memory.push_back(std::move(limit));
  }
  return absl::OkStatus();
}

// Limits, from how they are written to what they mean. `given` tells of an
// option whether the command line has it.
absl::Status SetLimits(const std::function<bool(const char*)>& given,
                       RawOptions& raw) {
  Gates& gates = raw.line.gates;
  RegressionLimits& regression = raw.line.regression;
  const auto set = [&](const char* option, const std::string& text, auto parse,
                       auto& out) -> absl::Status {
    if (!given(option)) return absl::OkStatus();
    return SetQuantity(text, option, parse, out);
  };
  EK_RETURN_IF_ERROR(
      set("--max-cycles", raw.max_cycles, ParseCycles, gates.max_cycles));
  EK_RETURN_IF_ERROR(set("--max-latency", raw.max_latency, ParseMilliseconds,
                         gates.max_latency_ms));
  EK_RETURN_IF_ERROR(SetMemoryLimits(raw, gates));
  EK_RETURN_IF_ERROR(
      set("--max-ram", raw.max_ram, ParseBytes, gates.max_ram_bytes));
  EK_RETURN_IF_ERROR(
      set("--min-accuracy", raw.min_accuracy, ParseShare, gates.min_accuracy));
  EK_RETURN_IF_ERROR(
      set("--max-error", raw.max_error, ParseErrorLimit, gates.max_error));
  EK_RETURN_IF_ERROR(set("--max-disagreement", raw.max_disagreement, ParseShare,
                         gates.max_disagreement));
  EK_RETURN_IF_ERROR(set("--max-regression", raw.max_regression, ParsePercent,
                         regression.max_percent));
  return set("--max-accuracy-drop", raw.max_accuracy_drop, ParsePoints,
             regression.max_accuracy_drop);
}

absl::Status CheckHasTarget(const std::string& option, const std::string& need,
                            const CommandLine& line,
                            const std::string& command) {
  if (!line.targets.empty()) return absl::OkStatus();
  return UsageError(absl::StrCat(option, " needs --target"), command, need,
                    absl::StrCat("add --target, or leave ", option, " out"));
}

absl::Status CheckRecipe(const CommandLine& line, const std::string& command) {
  if (line.recipe.empty()) {
    return UsageError("the NAME is empty", "--recipe", "",
                      "`edgekiln targets list` shows the recipes of targets");
  }
  return CheckHasTarget("--recipe", "the target whose recipe it is", line,
                        command);
}

// The budget is kept in millionths of samples.
absl::Status CheckBudget(const CommandLine& line, const std::string& command) {
  constexpr double kLeast = 0.0001;
  constexpr double kMost = 100;
  if (*line.accuracy_budget < kLeast || *line.accuracy_budget > kMost) {
    return UsageError(
        absl::StrCat("--accuracy-budget must be between 0.0001pp and 100pp, "
                     "got ",
                     *line.accuracy_budget, "pp"),
        command, "", "0.5pp is one sample of 200");
  }
  if (!line.calibration.empty()) return absl::OkStatus();
  return UsageError(
      "--accuracy-budget needs --calibration", command,
      "samples on which the quantized and the float network are compared",
      "add --calibration DATA, or leave --accuracy-budget out");
}

absl::Status CheckHot(const CommandLine& line, const std::string& command) {
  if (!line.hot) return absl::OkStatus();
  if (line.timing_only) {
    return UsageError(
        "--hot shows a run on the first sample, and "
        "--timing-only leaves samples out",
        command, "", "leave one of them out");
  }
  if (line.compiler == v1::NO_COMPILER) {
    return UsageError(
        "--hot shows compiled code, and --compiler none compiles "
        "none",
        command, "", "leave one of them out");
  }
  return absl::OkStatus();
}

// What does not go together, or is given too often.
absl::Status CheckTogether(const CLI::App& app, const CommandLine& line) {
  const std::string command = FullName(&app);
  if (line.timing_only && (!line.data.empty() || line.limit.has_value())) {
    return UsageError("--timing-only computes no values", command, "",
                      "leave --data and --limit out");
  }
  EK_RETURN_IF_ERROR(CheckHot(line, command));
  if (line.follow && !line.json && line.command != Command::kJobsLog) {
    return UsageError("--follow needs --json", command, "",
                      "add --json; without it progress is shown anyway");
  }
  if (!line.timeline.empty() && line.targets.size() > 1) {
    return UsageError("--timeline writes one file", command, "",
                      "profile one target at a time");
  }
  if (line.command != Command::kJobsCancel &&
      line.command != Command::kQuarantineRelease &&
      line.command != Command::kReportDiff &&
      line.command != Command::kReportHtml &&
      line.command != Command::kTargetsSources && line.names.size() > 1) {
    return UnknownArgument(app, line.names[1]);
  }
  const bool one_target = line.command == Command::kInspect ||
                          line.command == Command::kQuantize ||
                          line.command == Command::kRun;
  if (one_target && line.targets.size() > 1) {
    return UsageError("only one --target can be given here", command, "",
                      "give one, and repeat the command for the others");
  }
  if (line.command == Command::kReportDiff && line.targets.size() > 2) {
    return UsageError("two reports have two targets at most", command, "",
                      "give --target once or twice");
  }
  return absl::OkStatus();
}

// Of `compile`, which takes a model or what was made of one. `given` tells of
// an option whether the command line has it.
absl::Status CheckDocument(const std::function<bool(const char*)>& given,
                           const CommandLine& line) {
  if (line.command != Command::kCompile) return absl::OkStatus();
  constexpr char kCommand[] = "edgekiln compile";
  if (!given("--from")) {
    if (given("MODEL")) return absl::OkStatus();
    return UsageError("MODEL is required", kCommand,
                      "a .tflite or .onnx file, or --from FILE",
                      "see edgekiln compile --help");
  }
  if (line.document.empty()) {
    return UsageError("the FILE is empty", "--from", "",
                      "give network.ekn of a bundle");
  }
  if (given("MODEL")) {
    return UsageError("MODEL and --from are given", kCommand,
                      "a model, or a document that was made of one",
                      "leave one of them out");
  }
  for (const char* option :
       {"--calibration", "--calibration-method", "--quantization",
        "--accuracy-budget", "--seed", "--input", "--bind", "--bind-input",
        "--external-data"}) {
    if (!given(option)) continue;
    return UsageError(
        absl::StrCat(option, " is for models: a document is quantized already"),
        kCommand, "", absl::StrCat("leave ", option, " out, or give MODEL"));
  }
  return absl::OkStatus();
}

// Limits that the metric cannot keep or break.
absl::Status CheckMetric(const CommandLine& line, const std::string& command) {
  if (line.metric == v1::METRIC_UNSPECIFIED) return absl::OkStatus();
  if (line.command == Command::kSweep && !line.sweep.validate) {
    return UsageError("--metric needs --validate", command, "",
                      "add --validate, or leave --metric out");
  }
  const bool error =
      line.metric == v1::METRIC_MSE || line.metric == v1::METRIC_MAE;
  if (line.gates.max_error.has_value() && !error) {
    return UsageError("--max-error is a limit of the metrics mse and mae",
                      command, "",
                      "use --min-accuracy or --max-disagreement, or one of "
                      "these metrics");
  }
  if (line.gates.min_accuracy.has_value() &&
      (error || line.metric == v1::METRIC_AGREEMENT)) {
    return UsageError(
        "--min-accuracy is a limit of the metrics top1, top5, auc and cosine",
        command, "",
        error ? "use --max-error, of which less is better"
              : "use --max-disagreement");
  }
  return absl::OkStatus();
}

// Of `sweep` without a command behind it.
absl::Status CheckSweep(const Given& given, const CommandLine& line) {
  if (line.command != Command::kSweep) return absl::OkStatus();
  if (line.sweep.models.empty()) {
    return UsageError("a MODEL is missing", "edgekiln sweep",
                      "one or several .tflite or .onnx files",
                      "name them, or give a file to `edgekiln sweep run`");
  }
  if (line.targets.empty()) {
    return UsageError("--target is missing", "edgekiln sweep",
                      "a chip by name or pattern, or a descriptor file",
                      "`edgekiln targets list` shows the names");
  }
  if (line.sweep.validate && line.timing_only) {
    return UsageError("--validate computes values, --timing-only does not",
                      "edgekiln sweep", "", "leave one of them out");
  }
  for (const std::string& text : line.sweep.vary) {
    EK_ASSIGN_OR_RETURN(const v1::SweepVary vary, ParseVary(text));
    EK_RETURN_IF_ERROR(CheckVaried(given, vary));
  }
  for (const std::string& text : line.sweep.exclude) {
    EK_RETURN_IF_ERROR(ParseExclude(text).status());
  }
  return absl::OkStatus();
}

// From option values as they were given to what they mean.
absl::StatusOr<CommandLine> Finish(const CLI::App& root, RawOptions raw) {
  const CLI::App& app = *Reached(&root);
  CommandLine& line = raw.line;
  const auto given = [&](const char* name) {
    const CLI::Option* option = app.get_option_no_throw(name);
    return option != nullptr && option->count() > 0;
  };
  EK_RETURN_IF_ERROR(SetTimeout(raw.timeout, "--timeout", line.timeout));
  EK_RETURN_IF_ERROR(
      SetTimeout(raw.queue_timeout, "--queue-timeout", line.queue_timeout));
  EK_RETURN_IF_ERROR(
      SetTimeout(raw.run_timeout, "--run-timeout", line.run_timeout));
  EK_RETURN_IF_ERROR(SetTimeout(raw.interval, "--interval", line.interval));
  if (given("--supersede") && line.slot.empty()) {
    return UsageError("the KEY is empty", "--supersede", "",
                      "name what the result is for, or leave it out");
  }
  if (given("--recipe") && line.command != Command::kSweep) {
    EK_RETURN_IF_ERROR(CheckRecipe(line, FullName(&app)));
  }
  if (given("--quantization") && line.quantization.empty()) {
    return UsageError("the FILE is empty", "--quantization", "",
                      "`edgekiln quantize --help` shows such a file");
  }
  if (given("--accuracy-budget")) {
    EK_RETURN_IF_ERROR(SetQuantity(raw.accuracy_budget, "--accuracy-budget",
                                   ParsePoints, line.accuracy_budget));
    EK_RETURN_IF_ERROR(CheckBudget(line, FullName(&app)));
  }
  EK_RETURN_IF_ERROR(CheckFileNames(app));
  EK_RETURN_IF_ERROR(CheckCompare(given, line));
  EK_RETURN_IF_ERROR(CheckQuantizeData(given, line));
  EK_RETURN_IF_ERROR(CheckSweep(given, line));
  EK_RETURN_IF_ERROR(CheckPrintsOneThing(line));
  EK_RETURN_IF_ERROR(CheckOutputsOf(line));
  EK_RETURN_IF_ERROR(CheckDocument(given, line));
  if (given("--name")) EK_RETURN_IF_ERROR(CheckNetworkName(line));
  EK_RETURN_IF_ERROR(SetBindings(raw));
  EK_RETURN_IF_ERROR(SetTransforms(raw, FullName(&app), line));
  if (!raw.calibration_method.empty()) {
    EK_ASSIGN_OR_RETURN(line.calibration_method,
                        ParseCalibrationMethod(raw.calibration_method));
  }
  if (given("--io")) {
    EK_ASSIGN_OR_RETURN(line.io, ParseIoForm(raw.io));
  }
  if (given("--offload")) {
    EK_ASSIGN_OR_RETURN(line.offload, ParseOffload(raw.offload));
    EK_RETURN_IF_ERROR(CheckHasTarget("--offload",
                                      "the target whose engines are meant",
                                      line, FullName(&app)));
  }
  if (given("--compiler")) {
    EK_ASSIGN_OR_RETURN(line.compiler, ParseCompiler(raw.compiler));
    EK_RETURN_IF_ERROR(CheckHasTarget("--compiler", "the target that runs C",
                                      line, FullName(&app)));
  }
  if (given("--class")) {
    EK_ASSIGN_OR_RETURN(line.job_class, ParseJobClass(raw.job_class));
  }
  if (given("--state")) {
    EK_ASSIGN_OR_RETURN(line.job_filter.states, ParseJobStates(raw.job_states));
  }
  EK_RETURN_IF_ERROR(SetTimeout(raw.since, "--since", line.job_filter.since));
  if (given("--seed")) {
    EK_ASSIGN_OR_RETURN(line.seed, ParseSeed(raw.seed));
  }
  if (given("--limit")) {
    if (raw.limit < 1) {
      return UsageError("--limit must be at least 1", FullName(&app), "",
                        "leave --limit out to use everything");
    }
    line.limit = raw.limit;
  }
  if (raw.label_offset < -kMaxLabelOffset ||
      raw.label_offset > kMaxLabelOffset) {
    return UsageError(
        absl::StrCat("an offset of ", raw.label_offset, " is out of range"),
        "--label-offset",
        absl::StrCat(-kMaxLabelOffset, " to ", kMaxLabelOffset),
        "1 is for ImageNet's labels and a network with a background class");
  }
  line.label_offset = static_cast<int32_t>(raw.label_offset);
  if (given("--metric")) {
    EK_ASSIGN_OR_RETURN(line.metric, ParseMetric(raw.metric));
  }
  EK_RETURN_IF_ERROR(SetLimits(given, raw));
  EK_RETURN_IF_ERROR(CheckMetric(line, FullName(&app)));
  if (line.command == Command::kReportDiff) line.names = {raw.a, raw.b};
  if (given("FILE|DIR") || given("DIR")) line.names = {raw.a};  // check, init.
  if (line.command == Command::kReportBaseline ||
      line.command == Command::kReportShow ||
      line.command == Command::kReportExport) {
    line.names = {raw.a};
  }
  if (line.command == Command::kReportExport) {
    EK_ASSIGN_OR_RETURN(line.export_format,
                        ParseReportFormat(raw.export_format));
  }
  EK_RETURN_IF_ERROR(CheckTogether(app, line));
  EK_RETURN_IF_ERROR(CheckNamesAreText(line));
  return std::move(line);
}

// Before the command or behind it.
bool IsGiven(const CLI::App& root, const std::string& name) {
  const CLI::Option* behind = Reached(&root)->get_option_no_throw(name);
  return root.get_option(name)->count() > 0 ||
         (behind != nullptr && behind->count() > 0);
}

}  // namespace

bool IsText(Command command) {
  return command == Command::kHelp || command == Command::kVersion ||
         command == Command::kCompletion || command == Command::kMan;
}

absl::StatusOr<CommandLine> ParseCommandLine(
    const std::vector<std::string>& args, const Environment& environment) {
  RawOptions raw;
  CLI::App root(HelpHeader(), "edgekiln");
  DefineCommands(root, raw);

  // CLI11 takes them last first.
  std::vector<std::string> reversed(args.rbegin(), args.rend());
  try {
    root.parse(reversed);
  } catch (const CLI::CallForHelp& help) {
    if (HasUnknownCommand(root)) return FromCliError(root, help);
    return TextOnly(Command::kHelp, root.help());
  } catch (const CLI::CallForVersion&) {
    return TextOnly(Command::kVersion, IsGiven(root, "--json")
                                           ? VersionJson()
                                           : absl::StrCat(VersionText(), "\n"));
  } catch (const CLI::ParseError& error) {
    return FromCliError(root, error);
  }
  if (IsText(raw.line.command)) {
    EK_ASSIGN_OR_RETURN(std::string text, SelfDescription(root, raw.line));
    return TextOnly(raw.line.command, std::move(text));
  }
  if (!IsGiven(root, "--server") && !environment.server.empty()) {
    raw.line.server = environment.server;
    raw.line.server_from_variable = true;
  }
  return Finish(root, std::move(raw));
}

}  // namespace edgekiln::client
