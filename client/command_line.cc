#include "client/command_line.h"

#include <CLI/CLI.hpp>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "client/exit_code.h"
#include "client/help.h"
#include "client/option_values.h"
#include "client/parse_error.h"

namespace edgekiln::client {
namespace {

// What CLI11 fills in, before the option values are parsed further.
struct RawOptions {
  CommandLine line;
  std::string timeout;
  std::string queue_timeout;
  std::string run_timeout;
  std::vector<std::string> inputs;
  std::string calibration_method;
  std::string seed;
  std::vector<std::string> dimensions;
  std::vector<std::string> bound_inputs;
  std::vector<std::string> external_data;
  int64_t limit = 0;
  std::string a;  // report diff.
  std::string b;
};

void AddCommon(CLI::App& app, RawOptions& raw) {
  app.add_option("--server", raw.line.server,
                 WrapHelp("Address of a daemon: HOST:PORT or unix:/PATH. "
                          "Without it a daemon of your own is found or "
                          "started"))
      ->type_name("ADDRESS")
      ->group("Common options");
  app.add_flag("--json", raw.line.json,
               WrapHelp("Print JSON with proto field names, and nothing else, "
                        "to the standard output"))
      ->group("Common options");
  app.add_flag("--quiet", raw.line.quiet, "No progress")
      ->group("Common options");
  app.add_option("--timeout", raw.timeout,
                 WrapHelp("Give up after this long: 30s, 5m, 1h30m, or plain "
                          "seconds"))
      ->type_name("DURATION")
      ->group("Common options");
}

void AddModel(CLI::App& app, RawOptions& raw) {
  app.add_option("MODEL", raw.line.model, "A .tflite or .onnx file")
      ->required();
  app.add_option("--bind", raw.dimensions,
                 WrapHelp("ONNX: the extent of a symbolic dimension; that of "
                          "an unnamed one is written INPUT:POSITION=EXTENT"))
      ->type_name("NAME=EXTENT")
      ->allow_extra_args(false);
  app.add_option("--bind-input", raw.bound_inputs,
                 WrapHelp("ONNX: a graph input becomes the constant in an .npy "
                          "or TensorProto (.pb) file"))
      ->type_name("NAME=FILE")
      ->allow_extra_args(false);
  app.add_option("--external-data", raw.external_data,
                 WrapHelp("ONNX: a file that the model keeps tensors in. "
                          "LOCATION is what the model calls it; without it, "
                          "the name of the file"))
      ->type_name("[LOCATION=]FILE")
      ->allow_extra_args(false);
}

enum class Targets { kOptional, kRequired, kSeveral };

void AddTarget(CLI::App& app, RawOptions& raw, Targets count) {
  const bool several = count == Targets::kSeveral;
  auto* option = app.add_option(
      "--target", raw.line.targets,
      WrapHelp(absl::StrCat(
          "A chip by name (edgekiln targets list), or a descriptor FILE (an "
          "existing file, a path with '/', or ending in .txtpb or .textproto)",
          several ? ". May be given several times" : "")));
  // One value per --target, so that the MODEL behind it is not taken for one.
  option->type_name("T|FILE")->allow_extra_args(false);
  if (count != Targets::kOptional) option->required();
}

void AddData(CLI::App& app, RawOptions& raw, bool required,
             const std::string& help) {
  auto* option = app.add_option("--data", raw.line.data, WrapHelp(help));
  option->type_name("DATA");
  if (required) option->required();
}

void AddQuantization(CLI::App& app, RawOptions& raw) {
  app.add_option("--calibration", raw.line.calibration,
                 WrapHelp("Samples to learn activation ranges from (float "
                          "models)"))
      ->type_name("DATA");
  app.add_option("--calibration-method", raw.calibration_method,
                 WrapHelp("percentile[:P], P in percent (default: 99.99), or "
                          "minmax"))
      ->type_name("METHOD");
  app.add_option("--seed", raw.seed,
                 WrapHelp("Of synthetic inputs; the same seed gives the same "
                          "inputs"))
      ->type_name("N");
  app.add_option("--input", raw.inputs,
                 WrapHelp("How stored samples become the input NAME, on top of "
                          "the data set's own scale. SPEC is "
                          "NAME:KEY=VALUE,... with the keys scale, offset, "
                          "order (rgb, bgr), layout (nhwc, nchw). NAME: may be "
                          "left out for the only input; values "
                          "per channel are written 0.1/0.2/0.3"))
      ->type_name("SPEC")
      ->allow_extra_args(false);
}

void AddLimit(CLI::App& app, RawOptions& raw, const std::string& help) {
  app.add_option("--limit", raw.limit, help)->type_name("N");
}

// What the daemon does for the job, also once this command is gone.
void AddJob(CLI::App& app, RawOptions& raw) {
  constexpr char kGroup[] = "Job options";
  app.add_option(
         "--supersede", raw.line.slot,
         WrapHelp("Cancel your unfinished jobs that were given the same "
                  "KEY: for editors that ask at every change"))
      ->type_name("KEY")
      ->group(kGroup);
  app.add_option(
         "--queue-timeout", raw.queue_timeout,
         WrapHelp("The job fails, exit code 4, if it waits that long for "
                  "a worker"))
      ->type_name("DURATION")
      ->group(kGroup);
  app.add_option("--run-timeout", raw.run_timeout,
                 WrapHelp("The job fails, exit code 5, that long after a "
                          "worker has begun it"))
      ->type_name("DURATION")
      ->group(kGroup);
}

// What the report must hold; exit code 3 if it does not.
void AddGates(CLI::App& app, RawOptions& raw, bool accuracy) {
  app.add_option("--max-cycles", raw.line.gates.max_cycles,
                 WrapHelp("Exit code 3 if an inference takes more"))
      ->type_name("N");
  app.add_option("--max-ram", raw.line.gates.max_ram_bytes,
                 WrapHelp("Exit code 3 if activations need more bytes of RAM"))
      ->type_name("BYTES");
  if (!accuracy) return;
  app.add_option("--min-accuracy", raw.line.gates.min_accuracy,
                 WrapHelp("Exit code 3 if the accuracy is lower, or not "
                          "measured"))
      ->type_name("0..1");
}

void AddOutput(CLI::App& app, RawOptions& raw, bool required,
               const std::string& type, const std::string& help) {
  auto* option = app.add_option("-o,--output", raw.line.output, help);
  option->type_name(type);
  if (required) option->required();
}

void AddNames(CLI::App& app, RawOptions& raw, const std::string& type,
              const std::string& help) {
  app.add_option(type, raw.line.names, help)->required();
}

CLI::App* AddCommand(CLI::App& parent, RawOptions& raw, Command command,
                     const std::string& name, const std::string& description) {
  CLI::App* app = parent.add_subcommand(name, description);
  app->footer(HelpFooter(command));
  AddCommon(*app, raw);
  // Commands that contain commands are told apart by the innermost one.
  app->parse_complete_callback([&raw, command] { raw.line.command = command; });
  return app;
}

void AddModelCommands(CLI::App& root, RawOptions& raw) {
  CLI::App* app = AddCommand(root, raw, Command::kInspect, "inspect",
                             "Inputs, outputs and layers of a model");
  AddModel(*app, raw);
  AddTarget(*app, raw, Targets::kOptional);

  app = AddCommand(root, raw, Command::kCompile, "compile",
                   "Make the code that a chip runs");
  AddModel(*app, raw);
  AddTarget(*app, raw, Targets::kSeveral);
  AddQuantization(*app, raw);
  AddOutput(*app, raw, false, "DIR", "Where to put the bundle");
  AddJob(*app, raw);

  app = AddCommand(root, raw, Command::kProfile, "profile",
                   "Cycles per layer on the simulated chip");
  AddModel(*app, raw);
  AddTarget(*app, raw, Targets::kSeveral);
  AddQuantization(*app, raw);
  AddData(*app, raw, false,
          "Inputs to compare on; without it 16 seeded random ones");
  AddLimit(*app, raw, "Use at most N samples");
  app->add_flag("--timing-only", raw.line.timing_only,
                WrapHelp("Cycles alone: no values are computed, none are "
                         "compared with the reference"));
  AddGates(*app, raw, /*accuracy=*/false);
  AddJob(*app, raw);

  app = AddCommand(root, raw, Command::kValidate, "validate",
                   "Accuracy and exactness over a labelled data set");
  AddModel(*app, raw);
  AddTarget(*app, raw, Targets::kSeveral);
  AddQuantization(*app, raw);
  AddData(*app, raw, true, "The labelled data set");
  AddLimit(*app, raw, "Use at most N samples");
  AddGates(*app, raw, /*accuracy=*/true);
  AddJob(*app, raw);

  app = AddCommand(root, raw, Command::kRun, "run",
                   "Outputs of the reference, or of the simulated chip");
  AddModel(*app, raw);
  AddTarget(*app, raw, Targets::kOptional);
  AddQuantization(*app, raw);
  AddData(*app, raw, true,
          "A .npz with one array per input, named like it (or x)");
  AddOutput(*app, raw, true, "OUT.npz",
            "Where to put the outputs, one array per output");
  AddLimit(*app, raw, "Use at most N samples");
}

void AddTargetCommands(CLI::App& root, RawOptions& raw) {
  CLI::App* group = root.add_subcommand("targets", "The chips known by name");
  group->require_subcommand(1);
  AddCommand(*group, raw, Command::kTargetsList, "list", "All of them");
  CLI::App* app = AddCommand(*group, raw, Command::kTargetsShow, "show",
                             "The descriptor of one");
  AddNames(*app, raw, "TARGET", "Its name");
  app = AddCommand(*group, raw, Command::kTargetsCheck, "check",
                   "Whether a descriptor file is valid");
  AddNames(*app, raw, "FILE", "A descriptor in text form");
}

void AddJobCommands(CLI::App& root, RawOptions& raw) {
  CLI::App* group =
      root.add_subcommand("jobs", "What the daemon is doing and has done");
  group->require_subcommand(1);
  CLI::App* app =
      AddCommand(*group, raw, Command::kJobsList, "list", "The newest jobs");
  AddLimit(*app, raw, "List at most N jobs (20)");
  app = AddCommand(*group, raw, Command::kJobsShow, "show",
                   "State, stages and reports of a job");
  AddNames(*app, raw, "ID", "Job");
  app = AddCommand(*group, raw, Command::kJobsWatch, "watch",
                   "Follow a job to its end, then print its reports");
  AddNames(*app, raw, "ID", "Job");
  app = AddCommand(*group, raw, Command::kJobsCancel, "cancel", "Stop jobs");
  AddNames(*app, raw, "ID", "Jobs");
}

void AddReportCommands(CLI::App& root, RawOptions& raw) {
  CLI::App* group = root.add_subcommand("report", "What jobs found out");
  group->require_subcommand(1);
  CLI::App* app = AddCommand(*group, raw, Command::kReportDiff, "diff",
                             "What changed from one report to another");
  app->add_option("A", raw.a,
                  WrapHelp("A job by its id, or a file that --json wrote"))
      ->type_name("JOB|FILE")
      ->required();
  app->add_option("B", raw.b, "The same; what changed from A to B is shown")
      ->type_name("JOB|FILE")
      ->required();
  app->add_option("--target", raw.line.targets,
                  WrapHelp("Of reports on several targets, the one to compare; "
                           "given twice: that of A, then that of B"))
      ->type_name("T")
      ->allow_extra_args(false);
  app->add_option("--max-regression", raw.line.max_regression_percent,
                  WrapHelp("Exit code 3 if cycles, RAM or flash grew by more"))
      ->type_name("PERCENT");
}

CommandLine TextOnly(Command command, std::string text) {
  CommandLine line;
  line.command = command;
  line.text = std::move(text);
  return line;
}

absl::Status CheckGateValues(const Gates& gates) {
  if (gates.max_cycles.value_or(0) < 0 || gates.max_ram_bytes.value_or(0) < 0) {
    return UsageError("a limit below 0 can never hold",
                      "--max-cycles, --max-ram", "0 or more", "");
  }
  const double accuracy = gates.min_accuracy.value_or(0);
  if (accuracy >= 0 && accuracy <= 1) return absl::OkStatus();
  return UsageError(absl::StrCat("an accuracy of ", accuracy, " is none"),
                    "--min-accuracy", "a share from 0 to 1",
                    "write 0.83 for 83 %");
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

absl::StatusOr<CommandLine> Finish(const CLI::App& root, RawOptions raw) {
  const CLI::App& app = *Reached(&root);
  CommandLine& line = raw.line;
  const auto given = [&](const std::string& name) {
    const CLI::Option* option = app.get_option_no_throw(name);
    return option != nullptr && option->count() > 0;
  };
  if (!raw.timeout.empty()) {
    EK_ASSIGN_OR_RETURN(line.timeout, ParseTimeout(raw.timeout));
  }
  if (!raw.queue_timeout.empty()) {
    EK_ASSIGN_OR_RETURN(line.queue_timeout, ParseTimeout(raw.queue_timeout),
                        "--queue-timeout");
  }
  if (!raw.run_timeout.empty()) {
    EK_ASSIGN_OR_RETURN(line.run_timeout, ParseTimeout(raw.run_timeout),
                        "--run-timeout");
  }
  if (given("--supersede") && line.slot.empty()) {
    return UsageError("the KEY is empty", "--supersede", "",
                      "name what the result is for, or leave it out");
  }
  for (const std::string& input : raw.inputs) {
    EK_ASSIGN_OR_RETURN(v1::InputTransform transform,
                        ParseInputTransform(input));
    for (const v1::InputTransform& other : line.transforms) {
      if (other.input() == transform.input()) {
        return UsageError("two --input options for the same input",
                          absl::StrCat("--input '", input, "'"), "",
                          "write one --input with all its keys");
      }
    }
    line.transforms.push_back(std::move(transform));
  }
  EK_RETURN_IF_ERROR(SetBindings(raw));
  // Synthetic inputs are made in the network's own scale.
  if (!line.transforms.empty() && line.data.empty() &&
      line.calibration.empty()) {
    return UsageError("--input needs --data or --calibration", FullName(&app),
                      "stored samples to apply it to",
                      "give one of them, or leave --input out");
  }
  if (!raw.calibration_method.empty()) {
    EK_ASSIGN_OR_RETURN(line.calibration_method,
                        ParseCalibrationMethod(raw.calibration_method));
  }
  if (given("--seed")) {
    uint64_t seed = 0;
    // CLI11 would take -1 for the largest seed.
    if (!absl::SimpleAtoi(raw.seed, &seed)) {
      return UsageError(absl::StrCat("'", raw.seed, "' is not a seed"),
                        "--seed", "a whole number from 0 to 2^64-1", "");
    }
    line.seed = seed;
  }
  if (given("--limit")) {
    if (raw.limit < 1) {
      return UsageError("--limit must be at least 1", FullName(&app), "",
                        "leave --limit out to use everything");
    }
    line.limit = raw.limit;
  }
  EK_RETURN_IF_ERROR(CheckGateValues(line.gates));
  if (!(line.max_regression_percent.value_or(0) >= 0)) {
    return UsageError("a regression below 0 % is an improvement",
                      "--max-regression", "0 or more percent", "");
  }
  if (line.timing_only && (!line.data.empty() || line.limit.has_value())) {
    return UsageError("--timing-only computes no values", FullName(&app), "",
                      "leave --data and --limit out");
  }
  if (line.command == Command::kReportDiff) line.names = {raw.a, raw.b};
  if (line.command != Command::kJobsCancel &&
      line.command != Command::kReportDiff && line.names.size() > 1) {
    return UnknownArgument(app, line.names[1]);
  }
  const bool one_target =
      line.command == Command::kInspect || line.command == Command::kRun;
  if (one_target && line.targets.size() > 1) {
    return UsageError("only one --target can be given here", FullName(&app), "",
                      "give one, and repeat the command for the others");
  }
  if (line.command == Command::kReportDiff && line.targets.size() > 2) {
    return UsageError("two reports have two targets at most", FullName(&app),
                      "", "give --target once or twice");
  }
  return std::move(line);
}

}  // namespace

absl::StatusOr<CommandLine> ParseCommandLine(
    const std::vector<std::string>& args) {
  RawOptions raw;
  CLI::App root(HelpHeader(), "edgekiln");
  root.footer(HelpFooter(Command::kHelp));
  root.set_help_flag("-h,--help", "Print this help");
  root.set_version_flag("--version", VersionText(), "Print the version");
  root.require_subcommand(1);
  root.get_formatter()->label("SUBCOMMAND", "COMMAND");
  root.get_formatter()->label("Subcommands", "Commands");
  AddCommon(root, raw);
  AddModelCommands(root, raw);
  AddTargetCommands(root, raw);
  AddJobCommands(root, raw);
  AddReportCommands(root, raw);

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
