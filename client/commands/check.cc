#include "client/commands/check.h"

#include <algorithm>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "client/check/annotations.h"
#include "client/check/baselines.h"
#include "client/check/junit.h"
#include "client/check/project.h"
#include "client/check/run_project.h"
#include "client/check/sarif.h"
#include "client/check/summary.h"
#include "client/error_detail.h"
#include "client/exit_code.h"
#include "client/help.h"
#include "client/job_output.h"
#include "client/job_request.h"
#include "client/unreadable_file.h"
#include "reports/text/json.h"

namespace edgekiln::client {
namespace {

constexpr char kStandardOutput[] = "-";

// Has GitHub obey nothing that is printed meanwhile, to either output, where
// annotations are asked for.
class CommandsStopped {
 public:
  explicit CommandsStopped(CommandContext& context)
      : context_(context), on_(context.line.check.github_annotations) {
    if (on_) context_.print_bytes(StopGithubCommands(token_));
  }
  ~CommandsStopped() { Resume(); }
  CommandsStopped(const CommandsStopped&) = delete;
  CommandsStopped& operator=(const CommandsStopped&) = delete;

  void Resume() {
    if (on_) context_.print_bytes(ResumeGithubCommands(token_));
    on_ = false;
  }

 private:
  CommandContext& context_;
  bool on_;
  const std::string token_ = NewRequestId();
};

// The project file that the command line names, or that lies in the folder
// which it names.
std::string ProjectPath(const CommandContext& context) {
  if (context.line.names.empty()) return kProjectFileName;
  std::filesystem::path path = context.line.names[0];
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) path /= kProjectFileName;
  // As services know the file; not where a link before ".." leads elsewhere.
  const std::filesystem::path normal = path.lexically_normal();
  const bool up = std::find(path.begin(), path.end(), "..") != path.end();
  const bool same =
      !up || (std::filesystem::equivalent(path, normal, error) && !error);
  return same ? normal.string() : path.string();
}

absl::StatusOr<ProjectFile> ReadProject(const std::string& path,
                                        CommandContext& context) {
  const absl::StatusOr<std::string> text =
      context.files.Read(path, kMaxProjectFileBytes);
  if (text.ok()) return ParseProject(*text, path);
  if (!absl::IsNotFound(text.status())) {
    return UnreadableError(path, path, text.status(),
                           "name a project file, or its folder");
  }
  return UsageError(absl::StrCat("there is no project file '", path, "'"), path,
                    "",
                    "`edgekiln init` writes one for the models of a folder");
}

// One file that was asked for.
struct Output {
  const char* option;
  std::string path;
  std::string (*make)(const v1::CheckResult&);
};

std::string Sarif(const v1::CheckResult& result) {
  const std::string version = VersionText();
  return CheckToSarif(result,
                      std::string(absl::StripPrefix(version, "edgekiln ")));
}

std::vector<Output> OutputsOf(const CheckLine& line) {
  std::vector<Output> outputs;
  for (const Output& one :
       {Output{"--junit", line.junit, CheckToJunit},
        Output{"--markdown", line.markdown, CheckToMarkdown},
        Output{"--sarif", line.sarif, Sarif}}) {
    if (!one.path.empty()) outputs.push_back(one);
  }
  return outputs;
}

// Before anything runs: whether they can be written.
absl::Status CheckWritable(const std::vector<Output>& outputs,
                           const std::string& project) {
  for (const Output& output : outputs) {
    if (output.path == kStandardOutput) continue;
    EK_RETURN_IF_ERROR(CheckOutputFile(output.path, output.option));
    std::error_code error;
    if (std::filesystem::equivalent(output.path, project, error) && !error) {
      return UsageError("an output would replace the project file",
                        output.option, "", "give it another place");
    }
  }
  return absl::OkStatus();
}

absl::Status Write(const std::vector<Output>& outputs,
                   const v1::CheckResult& result, CommandsStopped& stopped,
                   CommandContext& context) {
  context.progress.Clear();
  bool table = !context.line.json;
  absl::Status status;
  for (const Output& output : outputs) {
    if (output.path == kStandardOutput) {
      context.print_bytes(output.make(result));
      table = false;
      continue;
    }
    status.Update(WriteOutputFile(output.path, output.make(result), context));
  }
  if (context.line.json) context.print(ToJson(result));
  // Without cells the error says it all.
  if (table && result.cells_size() > 0) {
    context.print(RenderCheck(result, context.style));
  }
  stopped.Resume();
  if (context.line.check.github_annotations) {
    context.print_bytes(CheckToGithubAnnotations(result));
  }
  return status;
}

}  // namespace

absl::Status RunCheck(CommandContext& context) {
  CommandsStopped stopped(context);
  const std::string path = ProjectPath(context);
  const std::vector<Output> outputs = OutputsOf(context.line.check);
  EK_RETURN_IF_ERROR(CheckWritable(outputs, path));
  v1::CheckResult result;
  result.set_file(path);
  absl::StatusOr<ProjectFile> project = ReadProject(path, context);
  absl::Status status = project.status();
  if (project.ok()) {
    result.set_baselines(BaselineFolderOf(*project, context.files));
    status = RunProject(*project, context, result);
  } else {
    *result.mutable_error() = DetailFromStatus(status);
  }
  FinishResult(status, result);
  if (ExitCodeFor(status) == ExitCode::kInterrupted) return status;
  const absl::Status written = Write(outputs, result, stopped, context);
  return status.ok() ? written : status;
}

}  // namespace edgekiln::client
