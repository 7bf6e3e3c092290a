#include "client/job_output.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "client/error_detail.h"
#include "client/exit_code.h"
#include "client/gate.h"
#include "client/output_file.h"
#include "client/recipe_support.h"
#include "client/render/comparison.h"
#include "client/render/error_block.h"
#include "client/render/report.h"
#include "client/render/stages.h"
#include "client/run_job.h"
#include "reports/text/json.h"

namespace edgekiln::client {
namespace {

// What is known of a target (or of the reference, without targets) that has no
// report.
v1::Report ReportWithout(const v1::Job& job, int target) {
  v1::Report report;
  report.set_job_id(job.id());
  report.set_model_name(job.request().model_name());
  *report.mutable_model() = job.request().model();
  if (target < job.request().targets_size()) {
    report.set_target_name(job.request().targets(target).name());
    *report.mutable_target() = job.request().targets(target).digest();
  }
  *report.mutable_stages() = job.stages();
  if (job.state() == v1::FAILED) *report.mutable_error() = job.error();
  return report;
}

absl::StatusOr<std::vector<v1::Report>> FetchReports(const v1::Job& job,
                                                     CommandContext& context) {
  std::vector<v1::Report> reports;
  const int count = std::max(1, job.request().targets_size());
  for (int target = 0; target < count; ++target) {
    absl::StatusOr<v1::Report> report =
        context.connection.GetReport(job.id(), target);
    if (absl::IsNotFound(report.status())) {
      report = ReportWithout(job, target);
    }
    EK_RETURN_IF_ERROR(report.status(), "fetching the report");
    reports.push_back(*std::move(report));
  }
  return reports;
}

// How to see more of a target than its row.
std::string DetailsHint(const v1::Report& report, const Style& style) {
  std::string out;
  for (const std::string& line :
       WrapWords(absl::StrCat("Layers of one: edgekiln report show ",
                              CleanText(report.job_id()), " --target ",
                              CleanText(report.target_name())),
                 style.width())) {
    absl::StrAppend(&out, style.Dim(line), "\n");
  }
  return out;
}

void PrintText(const std::vector<v1::Report>& reports,
               CommandContext& context) {
  const StageDetail stages =
      context.line.stages ? StageDetail::kTable : StageDetail::kLine;
  if (reports.size() == 1) {
    // Its error is printed by the caller, as every error.
    if (reports[0].has_error()) return;
    context.print(RenderReport(reports[0], context.style, stages));
    return;
  }
  if (reports.empty()) return;
  std::string out = RenderComparison(reports, context.style);
  for (const v1::Report& report : reports) {
    if (!report.has_error()) continue;
    absl::StrAppend(
        &out, "\n",
        RenderError(WithServer(report.error(), context.line.server),
                    context.style,
                    absl::StrCat(CleanText(report.target_name()), " failed")));
  }
  const auto good = std::find_if(
      reports.begin(), reports.end(),
      [](const v1::Report& report) { return !report.has_error(); });
  if (good != reports.end()) {
    absl::StrAppend(&out, "\n", DetailsHint(*good, context.style));
  }
  if (context.line.stages) {
    for (const v1::Report& report : reports) {
      absl::StrAppend(&out, "\n",
                      context.style.Bold(CleanText(report.target_name())), "\n",
                      RenderStages(report.stages(), context.style));
    }
  }
  context.print(out);
}

void PrintJson(const std::vector<v1::Report>& reports,
               CommandContext& context) {
  if (context.line.follow) {
    for (const v1::Report& report : reports) {
      // main prints {"error": ...} instead.
      if (reports.size() == 1 && report.has_error()) return;
      context.print(ToJsonLineWrapped("report", report));
    }
    return;
  }
  if (reports.size() == 1) {
    // main prints {"error": ...} instead.
    if (!reports[0].has_error()) context.print(ToJson(reports[0]));
    return;
  }
  std::vector<const google::protobuf::Message*> messages;
  messages.reserve(reports.size());
  for (const v1::Report& report : reports) messages.push_back(&report);
  context.print(ToJsonArray(messages));
}

absl::Status BadPath(const v1::Artifact& artifact) {
  return MakeError(absl::StatusCode::kDataLoss,
                   {.fault = Fault::kInfra,
                    .reason = "ARTIFACT_PATH",
                    .what = "the daemon names a file outside of the output",
                    .where = SanitizeText(artifact.path(), 200),
                    .need = "a relative path without \"..\"",
                    .fix = "use a daemon that you trust"});
}

bool IsSafe(const std::string& path) {
  const auto plain = [](char c) {
    return !absl::ascii_iscntrl(static_cast<unsigned char>(c)) && c != '\\';
  };
  if (path.empty() || path.size() > 1024) return false;
  if (!std::all_of(path.begin(), path.end(), plain)) return false;
  for (const absl::string_view part : absl::StrSplit(path, '/')) {
    if (part.empty() || part == "." || part == "..") return false;
  }
  return true;
}

absl::Status CannotWrite(const std::string& path, absl::string_view option,
                         absl::string_view why) {
  return UsageError(absl::StrCat("'", path, "' cannot be written: ", why),
                    std::string(option), "", "choose another place");
}

absl::Status CannotWrite(const std::string& path, absl::string_view why) {
  return CannotWrite(path, "-o", why);
}

// For users' own folders, hence with the modes that users expect.
absl::Status MakeFolder(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return CannotWrite(folder, error.message());
  return absl::OkStatus();
}

// Between the folder and the file nothing may lead elsewhere.
absl::Status RefuseLinks(const std::string& folder, const std::string& path) {
  std::string at = folder;
  const absl::string_view rest =
      absl::string_view(path).substr(folder.size() + 1);
  for (const absl::string_view part : absl::StrSplit(rest, '/')) {
    at = JoinPath(at, part);
    std::error_code error;
    if (std::filesystem::is_symlink(at, error)) {
      return CannotWrite(at, "it is a symbolic link");
    }
  }
  return absl::OkStatus();
}

// Writes the artifact beside its place. The caller gives it its name.
absl::StatusOr<OutputFile> FetchPart(const v1::Artifact& artifact,
                                     const std::string& path,
                                     CommandContext& context) {
  EK_RETURN_IF_ERROR(MakeFolder(ParentPath(path)));
  absl::StatusOr<OutputFile> file = OutputFile::Create(path, context.files);
  if (!file.ok()) return CannotWrite(path, file.status().message());
  const Digest digest{.hash = artifact.digest().hash(),
                      .size_bytes = artifact.digest().size_bytes()};
  int64_t done = 0;
  EK_RETURN_IF_ERROR(
      context.connection.Download(digest,
                                  [&](absl::string_view bytes) {
                                    done += static_cast<int64_t>(bytes.size());
                                    context.progress.OnLocalStep(
                                        "download", done, digest.size_bytes);
                                    return file->Append(bytes);
                                  }),
      absl::StrCat("downloading ", artifact.path()));
  EK_RETURN_IF_ERROR(file->Close());
  return file;
}

// "dla-64" may be chosen by the user and is a folder's name here.
std::string FolderName(const std::string& target) {
  std::string name;
  for (const char c : target) {
    const bool plain = absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
                       c == '-' || c == '_' || (c == '.' && !name.empty());
    name += plain ? c : '_';
  }
  return name.empty() ? "target" : name;
}

}  // namespace

absl::Status PrintReports(const v1::Job& job, CommandContext& context) {
  absl::Status outcome = JobError(job);
  // Nothing to say of a job that never got to its targets.
  if (!outcome.ok() && job.request().targets_size() < 2) return outcome;
  EK_ASSIGN_OR_RETURN(std::vector<v1::Report> reports,
                      FetchReports(job, context));
  for (const v1::Report& report : reports) {
    if (report.has_error()) continue;
    EK_RETURN_IF_ERROR(CheckKnowsRecipes(context.line.recipe, report.recipe()));
    EK_RETURN_IF_ERROR(
        CheckKnowsOffload(context.line.offload, report.offload()));
  }
  // A limit that names no memory of any target: the reports are there all the
  // same.
  const absl::Status applied = ApplyGates(context.line.gates, reports);
  PrintReportList(reports, context);
  EK_RETURN_IF_ERROR(outcome);
  EK_RETURN_IF_ERROR(applied);
  return CheckGates(reports);
}

void PrintReportList(const std::vector<v1::Report>& reports,
                     CommandContext& context) {
  context.progress.Clear();
  if (context.line.json) {
    PrintJson(reports, context);
  } else {
    PrintText(reports, context);
  }
}

bool IsStandardOutput(absl::string_view output) {
  return output.empty() || output == "-";
}

absl::Status CheckOutputFile(const std::string& path,
                             absl::string_view option) {
  std::error_code error;
  const std::filesystem::file_status target =
      std::filesystem::status(path, error);
  if (std::filesystem::is_directory(target)) {
    return CannotWrite(path, option, "it is a folder: name the file in it");
  }
  // It will be replaced, and a device must not be.
  if (std::filesystem::exists(target) &&
      !std::filesystem::is_regular_file(target)) {
    return CannotWrite(path, option, "it is not a regular file");
  }
  const std::string parent = std::filesystem::path(path).parent_path().string();
  const std::string folder = parent.empty() ? "." : parent;
  if (!std::filesystem::is_directory(folder, error)) {
    return CannotWrite(path, option,
                       absl::StrCat("there is no folder '", folder, "'"));
  }
  if (access(folder.c_str(), W_OK | X_OK) != 0) {
    return CannotWrite(
        path, option,
        absl::StrCat("the folder '", folder, "' is not yours to write to"));
  }
  return absl::OkStatus();
}

absl::Status CheckKeepsInputs(const CommandLine& line) {
  std::vector<std::string> inputs = {line.model, line.document, line.data,
                                     line.calibration, line.quantization};
  inputs.insert(inputs.end(), line.names.begin(), line.names.end());
  for (const std::string& input : inputs) {
    std::error_code error;
    if (std::filesystem::equivalent(line.output, input, error) && !error) {
      return CannotWrite(line.output, "this command reads it");
    }
  }
  return absl::OkStatus();
}

absl::Status WriteOutputFile(const std::string& path, absl::string_view bytes,
                             CommandContext& context) {
  const auto write = [&]() -> absl::Status {
    EK_ASSIGN_OR_RETURN(OutputFile file,
                        OutputFile::Create(path, context.files));
    EK_RETURN_IF_ERROR(file.Append(bytes));
    EK_RETURN_IF_ERROR(file.Close());
    return file.Commit();
  };
  const absl::Status status = write();
  if (status.ok()) return status;
  const std::optional<ErrorDetail> detail = GetErrorDetail(status);
  if (!detail) return CannotWrite(path, status.message());
  // A full disk is no mistake on the command line.
  return detail->fault == Fault::kUser ? CannotWrite(path, detail->what)
                                       : status;
}

absl::Status CheckOutputFolder(const std::string& path) {
  std::error_code error;
  // Of what is missing the nearest that is there.
  std::filesystem::path at = std::filesystem::path(path);
  while (!at.empty() && !std::filesystem::exists(at, error) &&
         at != at.parent_path()) {
    at = at.parent_path();
  }
  const std::string there = at.empty() ? "." : at.string();
  if (!std::filesystem::is_directory(there, error)) {
    return CannotWrite(path, absl::StrCat("'", there, "' is not a folder"));
  }
  if (access(there.c_str(), W_OK | X_OK) != 0) {
    return CannotWrite(path, absl::StrCat("the folder '", there,
                                          "' is not yours to write to"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> ArtifactPath(const v1::Job& job,
                                         const v1::Artifact& artifact,
                                         const std::string& folder) {
  if (!IsSafe(artifact.path())) return BadPath(artifact);
  if (job.request().targets_size() < 2 || artifact.target() < 0) {
    return JoinPath(folder, artifact.path());
  }
  if (artifact.target() >= job.request().targets_size()) {
    return BadPath(artifact);
  }
  const std::string target =
      FolderName(job.request().targets(artifact.target()).name());
  return JoinPath(JoinPath(folder, target), artifact.path());
}

absl::Status FetchArtifact(const v1::Artifact& artifact,
                           const std::string& path, CommandContext& context) {
  EK_ASSIGN_OR_RETURN(OutputFile file, FetchPart(artifact, path, context));
  return file.Commit();
}

absl::StatusOr<std::vector<std::string>> FetchArtifacts(
    const v1::Job& job, const std::string& folder, CommandContext& context) {
  std::vector<std::string> paths;
  std::set<std::string> unique;
  for (const v1::Artifact& artifact : job.artifacts()) {
    EK_ASSIGN_OR_RETURN(const std::string path,
                        ArtifactPath(job, artifact, folder));
    if (!unique.insert(path).second) return BadPath(artifact);
    EK_RETURN_IF_ERROR(RefuseLinks(folder, path));
    paths.push_back(path);
  }
  EK_RETURN_IF_ERROR(MakeFolder(folder));
  // All or nothing, as far as files allow: nothing gets its name before
  // everything is here.
  std::vector<OutputFile> files;
  for (int i = 0; i < job.artifacts_size(); ++i) {
    EK_ASSIGN_OR_RETURN(OutputFile file,
                        FetchPart(job.artifacts(i), paths[i], context));
    files.push_back(std::move(file));
  }
  for (OutputFile& file : files) EK_RETURN_IF_ERROR(file.Commit());
  return paths;
}

}  // namespace edgekiln::client
