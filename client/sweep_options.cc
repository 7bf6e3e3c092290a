#include "client/sweep_options.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/wrap_help.h"
#include "client/exit_code.h"
#include "client/option_building.h"
#include "client/option_definitions.h"

namespace edgekiln::client {
namespace {

constexpr char kSweepHelp[] =
    "A sweep: its id, the first characters of it (4 or more), or `last`, the "
    "newest job";

// What is done with the rows.
void AddRows(CLI::App& app, RawOptions& raw) {
  SweepLine& sweep = raw.line.sweep;
  app.add_option("--csv", sweep.csv,
                 WrapHelp("Also write the rows to FILE as comma-separated "
                          "values; - is the standard output"))
      ->type_name("FILE");
  app.add_option("--memory", sweep.memories,
                 WrapHelp("Memories to show and to compare by, beside cycles: "
                          "names as in reports (default: those that all the "
                          "chips have). May be given several times"))
      ->type_name("NAME")
      ->allow_extra_args(false);
}

void AddStart(CLI::App& app, RawOptions& raw) {
  SweepLine& sweep = raw.line.sweep;
  app.add_flag("--dry-run", sweep.dry_run,
               WrapHelp("List the cells, and run none"));
  app.add_flag("--detach", sweep.detach,
               WrapHelp("Print the id of the sweep and leave it to the "
                        "daemon"))
      ->group(kJobGroup);
  app.add_option("--queue-timeout", raw.queue_timeout,
                 WrapHelp("Fail a cell if it waits this long for a worker"))
      ->type_name("DURATION")
      ->group(kJobGroup);
  app.add_option("--run-timeout", raw.run_timeout,
                 WrapHelp("Fail a cell this long after a worker started it"))
      ->type_name("DURATION")
      ->group(kJobGroup);
}

void AddAxes(CLI::App& app, RawOptions& raw) {
  SweepLine& sweep = raw.line.sweep;
  app.add_option("MODEL", sweep.models,
                 WrapHelp("A .tflite or .onnx file. Several at once; one that "
                          "is called as a command below is written ./run"))
      ->type_name("");
  app.add_option(
         "--target", raw.line.targets,
         WrapHelp("A chip by name, in which * stands for anything: "
                  "'dla-64-*'; or a descriptor FILE. May be given several "
                  "times"))
      ->type_name("T|FILE")
      ->allow_extra_args(false);
  app.add_option("--recipe", sweep.recipes,
                 WrapHelp("One of the chips' recipes; a chip without it gets "
                          "a refused row. May be given several times"))
      ->type_name("NAME")
      ->allow_extra_args(false);
  app.add_option("--vary", sweep.vary,
                 WrapHelp("A parameter of the chips (`edgekiln targets show`), "
                          "or one of calibration-method, io, limit, offload, "
                          "quantization (files; `default` is none) and seed, "
                          "with the values it takes. Chips without "
                          "the parameter leave it out. May be given several "
                          "times: all combinations"))
      ->type_name("KEY=A,B,..")
      ->allow_extra_args(false);
  app.add_option("--exclude", sweep.exclude,
                 WrapHelp("Leave out the cells for which all of this holds; "
                          "keys are model, target, recipe and those varied, "
                          "values may hold *. May be given several times"))
      ->type_name("'KEY=V KEY=V..'")
      ->allow_extra_args(false);
  app.add_flag("--validate", sweep.validate,
               WrapHelp("Accuracy on DATA for each cell; without it a profile, "
                        "compared on a few inputs"));
  app.add_flag(
      "--timing-only", raw.line.timing_only,
      WrapHelp("Only count cycles: compute no values, compare nothing"));
}

}  // namespace

void AddSweepCommands(CLI::App& root, RawOptions& raw,
                      void (*add_job)(CLI::App& app, RawOptions& raw)) {
  CLI::App* sweep = AddCommand(root, raw, Command::kSweep, "sweep",
                               "Many models on many chips: one table");
  AddAxes(*sweep, raw);
  add_job(*sweep, raw);
  AddRows(*sweep, raw);
  AddStart(*sweep, raw);
  sweep->require_subcommand(0, 1);

  CLI::App* app = AddCommand(*sweep, raw, Command::kSweepRun, "run",
                             "A sweep that a file describes");
  AddNames(*app, raw, "FILE",
           WrapHelp("An edgekiln.v1.SweepRequest in text form; files in it are "
                    "looked for beside it"));
  AddRows(*app, raw);
  AddStart(*app, raw);
  app =
      AddCommand(*sweep, raw, Command::kSweepList, "list", "The newest sweeps");
  AddLimit(*app, raw, "List at most N sweeps (20)");
  app = AddCommand(*sweep, raw, Command::kSweepShow, "show",
                   "The rows that there are of a sweep");
  AddNames(*app, raw, "ID", WrapHelp(kSweepHelp));
  AddRows(*app, raw);
  app = AddCommand(*sweep, raw, Command::kSweepWatch, "watch",
                   "Follow a sweep to its end, then print its table");
  AddNames(*app, raw, "ID", WrapHelp(kSweepHelp));
  AddRows(*app, raw);
  app = AddCommand(*sweep, raw, Command::kSweepCancel, "cancel",
                   "Stop a sweep; rows that are finished stay");
  AddNames(*app, raw, "ID", WrapHelp(kSweepHelp));
}

absl::StatusOr<v1::SweepVary> ParseVary(const std::string& text) {
  const size_t equals = text.find('=');
  v1::SweepVary vary;
  if (equals != std::string::npos && equals > 0) {
    vary.set_key(text.substr(0, equals));
    bool good = true;
    for (const absl::string_view value :
         absl::StrSplit(text.substr(equals + 1), ',')) {
      good = good && !value.empty();
      vary.add_values(std::string(value));
    }
    if (good) return vary;
  }
  return UsageError(absl::StrCat("'", text, "' has no values to vary"),
                    "--vary", "KEY=A,B,..",
                    "write for example --vary l1_bytes=4KiB,8KiB");
}

absl::StatusOr<v1::SweepExclude> ParseExclude(const std::string& text) {
  v1::SweepExclude exclude;
  for (const absl::string_view part :
       absl::StrSplit(text, ' ', absl::SkipEmpty())) {
    const size_t equals = part.find('=');
    if (equals == absl::string_view::npos || equals == 0) {
      return UsageError(absl::StrCat("'", part, "' is no condition"),
                        "--exclude", "KEY=VALUE",
                        "write for example --exclude 'target=dla-64-* pes=64'");
    }
    v1::SweepExclude::Condition& when = *exclude.add_when();
    when.set_key(std::string(part.substr(0, equals)));
    when.set_value(std::string(part.substr(equals + 1)));
  }
  if (exclude.when_size() > 0) return exclude;
  return UsageError("an exclude needs conditions", "--exclude",
                    "KEY=VALUE, several separated by spaces",
                    "write for example --exclude 'target=dla-64-* pes=64'");
}

}  // namespace edgekiln::client
