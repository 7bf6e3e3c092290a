#include "client/check/check_options.h"

#include <filesystem>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/wrap_help.h"
#include "client/exit_code.h"
#include "client/option_building.h"
#include "client/option_definitions.h"

namespace edgekiln::client {
namespace {

constexpr char kStandardOutput[] = "-";

constexpr char kCheck[] = R"(Examples:
  edgekiln init && edgekiln check
      Writes edgekiln.txtpb for the models of this folder, and runs it.
  edgekiln check --update-baselines
      Also makes the reports the baselines of later runs; commit the files.
  edgekiln check --junit junit.xml --sarif check.sarif --markdown check.md
      In CI. Exit code 3: the output says what broke, by how much and in which
      layer.
  edgekiln check ci/edgekiln.txtpb --json | jq '.cells[].findings[].message'

edgekiln.txtpb holds groups of models and targets with their budgets, and how
much worse than its baseline a cell may be:

  groups {
    models { file: "net.onnx" calibration { file: "calibration.npz" } }
    targets { name: "dla-64-o-512k" }
    gates { max_cycles: 500000 max_memory { name: "flash" bytes: 65536 } }
  }
  regression { max_cycles_growth: 2 max_memory_growth: 0 }  # Percent.

docs/check.md has all keys; an unknown one is an error. The project runs as one
sweep: what did not change is not computed again.

Exit codes, the worst one of all cells: 4 the service failed or cannot be
reached; 1 a model, its data or a target cannot be used; 3 a budget is broken,
or a baseline by more than is allowed; 0 otherwise, also where there is no
baseline yet. 2 the command line or the project file is wrong.
)";

constexpr char kInit[] = R"(Examples:
  edgekiln init
      Finds the models below this folder, .onnx and .tflite, and their data sets
      by name: net_calibration.npz and net_test.npz of net.onnx, or
      calibration.npz and test.npz of all models beside them.
  edgekiln init models --target dla-64-o-512k --target my_chip.txtpb
  edgekiln init --force
      Replaces an edgekiln.txtpb that is there.

The file explains itself in comments; then run `edgekiln check`.
)";

// Where a file is, however its path is written.
std::string PlaceOf(const std::string& file) {
  std::error_code error;
  // Absolute first: a name that does not exist would stay relative.
  std::filesystem::path path = std::filesystem::absolute(file, error);
  if (error) return file;
  path = std::filesystem::weakly_canonical(path, error);
  return error ? file : path.string();
}

}  // namespace

void AddCheckCommands(CLI::App& root, RawOptions& raw) {
  CheckLine& check = raw.line.check;
  CLI::App* app = AddCommand(root, raw, Command::kCheck, "check",
                             "Budgets and baselines of a project: for CI");
  app->add_option("FILE|DIR", raw.a,
                  WrapHelp("A project file, or the folder with its "
                           "edgekiln.txtpb (default: the current one)"))
      ->type_name("");
  app->add_flag("--update-baselines", check.update_baselines,
                WrapHelp("Write the reports as baselines, and remove those of "
                         "cells that are gone; budgets are judged as always"));
  const auto output = [&](const char* name, std::string& value,
                          const char* help) {
    app->add_option(name, value, WrapHelp(help))
        ->type_name("FILE")
        ->group("Outputs (- is the standard output, instead of the table)");
  };
  output("--junit", check.junit, "Write the result as JUnit XML");
  output("--markdown", check.markdown,
         "Write the result as Markdown, for a merge request");
  output("--sarif", check.sarif,
         "Write the result as SARIF 2.1.0, with places in the project file");
  app->add_flag("--github-annotations", check.github_annotations,
                WrapHelp("Also print the result as annotations of GitHub "
                         "Actions"))
      ->group("Outputs (- is the standard output, instead of the table)");

  app = AddCommand(root, raw, Command::kInit, "init",
                   "Write the project file of a folder, for check");
  app->add_option("DIR", raw.a,
                  WrapHelp("Where the models are, and the file will be "
                           "(default: the current folder)"))
      ->type_name("");
  app->add_option("--target", raw.line.targets,
                  WrapHelp("A chip by name (edgekiln targets list), or a "
                           "descriptor FILE. May be given several times "
                           "(default: dla-64-o-512k)"))
      ->type_name("T|FILE")
      ->allow_extra_args(false);
  app->add_flag("--force", check.force, "Replace a project file");
}

absl::Status CheckOutputsOf(const CommandLine& line) {
  if (line.command != Command::kCheck) return absl::OkStatus();
  std::string to_stdout = line.json ? "--json" : "";
  if (line.check.github_annotations && line.json) {
    return UsageError("--json and --github-annotations have the same output",
                      "edgekiln check", "", "leave one of them out");
  }
  if (line.check.github_annotations) to_stdout = "--github-annotations";
  std::set<std::string> files;
  for (const auto& [option, file] :
       std::vector<std::pair<std::string, std::string>>{
           {"--junit", line.check.junit},
           {"--markdown", line.check.markdown},
           {"--sarif", line.check.sarif}}) {
    if (file.empty()) continue;
    if (file == kStandardOutput && !to_stdout.empty()) {
      return UsageError(
          absl::StrCat(to_stdout, " and ", option, " have the same output"),
          "edgekiln check", "one result on the standard output",
          absl::StrCat("give ", option, " a file"));
    }
    if (file == kStandardOutput) to_stdout = option;
    if (file != kStandardOutput && !files.insert(PlaceOf(file)).second) {
      return UsageError(
          absl::StrCat("'", file, "' is the output of two options"), option, "",
          "give each a file of its own");
    }
  }
  return absl::OkStatus();
}

std::string CheckHelpFooter(Command command) {
  if (command == Command::kCheck) return kCheck;
  return command == Command::kInit ? kInit : "";
}

}  // namespace edgekiln::client
