#include "client/command_line.h"

#include <CLI/CLI.hpp>
#include <set>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "client/exit_code.h"
#include "client/help.h"
#include "client/option_definitions.h"
#include "client/option_values.h"
#include "client/parse_error.h"
#include "client/text_arguments.h"

namespace edgekiln::client {
namespace {

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

absl::Status CheckAtLeastZero(absl::string_view option, int64_t limit) {
  if (limit >= 0) return absl::OkStatus();
  return UsageError("a limit below 0 can never hold",
                    absl::StrCat(option, " ", limit), "0 or more",
                    "write what the network may need at most");
}

absl::Status CheckGateValues(const CommandLine& line) {
  const Gates& gates = line.gates;
  EK_RETURN_IF_ERROR(
      CheckAtLeastZero("--max-cycles", gates.max_cycles.value_or(0)));
  EK_RETURN_IF_ERROR(
      CheckAtLeastZero("--max-ram", gates.max_ram_bytes.value_or(0)));
  const double accuracy = gates.min_accuracy.value_or(0);
  if (!(accuracy >= 0 && accuracy <= 1)) {
    return UsageError(absl::StrCat("an accuracy of ", accuracy, " is none"),
                      "--min-accuracy", "a share from 0 to 1",
                      "write 0.83 for 83 %");
  }
  if (!(line.max_regression_percent.value_or(0) >= 0)) {
    return UsageError("a regression below 0 % is an improvement",
                      "--max-regression", "0 or more percent",
                      "write 2 for at most 2 % more");
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
  if (line.command != Command::kJobsCancel &&
      line.command != Command::kReportDiff && line.names.size() > 1) {
    return UnknownArgument(app, line.names[1]);
  }
  const bool one_target =
      line.command == Command::kInspect || line.command == Command::kRun;
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

// From option values as they were given to what they mean.
absl::StatusOr<CommandLine> Finish(const CLI::App& root, RawOptions raw) {
  const CLI::App& app = *Reached(&root);
  CommandLine& line = raw.line;
  const auto given = [&](const std::string& name) {
    const CLI::Option* option = app.get_option_no_throw(name);
    return option != nullptr && option->count() > 0;
  };
  EK_RETURN_IF_ERROR(SetTimeout(raw.timeout, "--timeout", line.timeout));
  EK_RETURN_IF_ERROR(
      SetTimeout(raw.queue_timeout, "--queue-timeout", line.queue_timeout));
  EK_RETURN_IF_ERROR(
      SetTimeout(raw.run_timeout, "--run-timeout", line.run_timeout));
  if (given("--supersede") && line.slot.empty()) {
    return UsageError("the KEY is empty", "--supersede", "",
                      "name what the result is for, or leave it out");
  }
  EK_RETURN_IF_ERROR(SetBindings(raw));
  EK_RETURN_IF_ERROR(SetTransforms(raw, FullName(&app), line));
  if (!raw.calibration_method.empty()) {
    EK_ASSIGN_OR_RETURN(line.calibration_method,
                        ParseCalibrationMethod(raw.calibration_method));
  }
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
  EK_RETURN_IF_ERROR(CheckGateValues(line));
  if (line.command == Command::kReportDiff) line.names = {raw.a, raw.b};
  EK_RETURN_IF_ERROR(CheckTogether(app, line));
  EK_RETURN_IF_ERROR(CheckNamesAreText(line));
  return std::move(line);
}

}  // namespace

absl::StatusOr<CommandLine> ParseCommandLine(
    const std::vector<std::string>& args) {
  RawOptions raw;
  CLI::App root(HelpHeader(), "edgekiln");
  DefineCommands(root, raw);

  // CLI11 takes them last first.
  std::vector<std::string> reversed(args.rbegin(), args.rend());
  try {
    root.parse(reversed);
  } catch (const CLI::CallForHelp&) {
    return TextOnly(Command::kHelp, root.help());
  } catch (const CLI::CallForVersion&) {
    return TextOnly(Command::kVersion, absl::StrCat(VersionText(), "\n"));
  } catch (const CLI::ParseError& error) {
    return FromCliError(root, error);
  }
  return Finish(root, std::move(raw));
}

}  // namespace edgekiln::client
