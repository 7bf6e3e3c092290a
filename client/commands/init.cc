#include "client/commands/init.h"

#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"
#include "client/check/project.h"
#include "client/check/starter.h"
#include "client/exit_code.h"
#include "client/job_output.h"
#include "client/job_request.h"
#include "edgekiln/v1/project.pb.h"
#include "reports/text/json.h"
#include "reports/text/text.h"

namespace edgekiln::client {
namespace {

constexpr char kDefaultTarget[] = "dla-64-o-512k";

// As the project file names them: files relative to its folder.
absl::StatusOr<std::vector<StarterTarget>> TargetsOf(const std::string& folder,
                                                     CommandContext& context) {
  std::vector<StarterTarget> targets;
  for (const std::string& target : context.line.targets) {
    if (CleanText(target) != target || target.empty()) {
      return UsageError("the name of a target is empty or not text", "--target",
                        "", "`edgekiln targets list` shows the names");
    }
    const bool is_file = target.find('*') == std::string::npos &&
                         NamesTargetFile(context.files, target);
    if (!is_file) {
      targets.push_back({.name = target});
      continue;
    }
    std::error_code error;
    if (!std::filesystem::is_regular_file(target, error)) {
      return UsageError(absl::StrCat("'", target, "' does not exist"),
                        "--target", "a chip by name, or a descriptor file",
                        "`edgekiln targets list` shows the names");
    }
    const std::filesystem::path relative =
        std::filesystem::relative(target, folder, error);
    targets.push_back(
        {.file = error || relative.empty() ? target : relative.string()});
  }
  if (targets.empty()) targets.push_back({.name = kDefaultTarget});
  return targets;
}

absl::Status CheckFree(const std::string& path, CommandContext& context) {
  if (context.line.check.force || !context.files.Stat(path).ok()) {
    return absl::OkStatus();
  }
  return UsageError(absl::StrCat("'", path, "' is there already"), "init", "",
                    "change it, or replace it with --force");
}

std::string Summary(const v1::ProjectStart& start) {
  std::string out =
      absl::StrCat("wrote ", CleanText(start.file()), ": ",
                   Count(start.models_size(), "model", "models"), " on ",
                   Count(start.targets_size(), "target", "targets"), "\n");
  for (const std::string& model : start.models()) {
    absl::StrAppend(&out, "  ", CleanText(model), "\n");
  }
  for (const std::string& warning : start.warnings()) {
    absl::StrAppend(&out, "left out: ", CleanText(warning), "\n");
  }
  return out + "Set budgets in it, then run: edgekiln check\n";
}

}  // namespace

absl::Status RunInit(CommandContext& context) {
  const std::string given =
      context.line.names.empty() ? "." : context.line.names[0];
  const std::string folder(
      given == "/" ? given : std::string(absl::StripSuffix(given, "/")));
  std::error_code error;
  if (!std::filesystem::is_directory(folder, error)) {
    return UsageError(absl::StrCat("'", folder, "' is not a folder"), "init",
                      "the folder with the models", "check the path");
  }
  const std::string path =
      folder == "." ? kProjectFileName : JoinPath(folder, kProjectFileName);
  EK_RETURN_IF_ERROR(CheckFree(path, context));
  EK_ASSIGN_OR_RETURN(const std::vector<StarterTarget> targets,
                      TargetsOf(folder, context));
  const FoundModels found = FindModels(context.files, folder);
  if (found.models.empty()) {
    return UsageError(absl::StrCat("there is no model below '", folder, "'"),
                      "init", "a file *.onnx or *.tflite",
                      "name the folder with the models: edgekiln init DIR");
  }
  EK_RETURN_IF_ERROR(
      WriteOutputFile(path, StarterText(found.models, targets), context));
  v1::ProjectStart start;
  start.set_file(path);
  for (const FoundModel& model : found.models) {
    start.add_models(model.file);
    if (!model.calibration.empty()) start.add_data(model.calibration);
    if (HasAccuracy(model)) start.add_data(model.data);
  }
  for (const StarterTarget& target : targets) {
    start.add_targets(target.file.empty() ? target.name : target.file);
  }
  *start.mutable_warnings() = {found.warnings.begin(), found.warnings.end()};
  context.progress.Clear();
  context.print(context.line.json ? ToJson(start) : Summary(start));
  return absl::OkStatus();
}

}  // namespace edgekiln::client
