#include "client/check/baselines.h"

#include <cstdint>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/digest.h"
#include "base/status_macros.h"
#include "client/check/cell_names.h"
#include "client/exit_code.h"
#include "client/output_file.h"
#include "reports/text/text.h"

namespace edgekiln::client {
namespace {

constexpr int64_t kMaxBaselineBytes = int64_t{64} << 20;
constexpr int64_t kMaxListBytes = int64_t{8} << 20;
constexpr char kListSuffix[] = ".list";
constexpr char kDefaultFolder[] = "baselines";
constexpr size_t kListHashDigits = 8;

// The project file as seen from the folder of its baselines: the same in every
// checkout of a repository that holds both.
std::string ProjectFrom(const std::string& folder, const std::string& project) {
  const auto whole = [](const std::string& path) {
    std::error_code error;
    const std::filesystem::path out = std::filesystem::absolute(path, error);
    return (error ? std::filesystem::path(path) : out).lexically_normal();
  };
  return whole(project).lexically_relative(whole(folder)).string();
}

// "nightly" of "ci/nightly.txtpb".
std::string ShortName(const std::string& project) {
  return std::string(absl::StripSuffix(
      std::filesystem::path(project).filename().string(), ".txtpb"));
}

// Projects of the same name in different folders may share a folder of
// baselines, but not a list. Projects beside the folder have different names.
std::string ListName(const std::string& project) {
  const std::string name = std::filesystem::path(project).filename().string();
  std::string list = ShortName(project);
  if (project != absl::StrCat("../", name)) {
    absl::StrAppend(&list, "-",
                    DigestOf(project).hash.substr(0, kListHashDigits));
  }
  return list + kListSuffix;
}

absl::Status CannotUse(const std::string& path, absl::string_view why) {
  return UsageError(absl::StrCat("'", path, "' cannot be used: ", why),
                    "baselines", "a folder of the repository",
                    "check `baselines` of the project file");
}

// For a folder of the user's, hence with the mode that users expect.
absl::Status MakeFolder(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return CannotUse(folder, error.message());
  return absl::OkStatus();
}

absl::StatusOr<OutputFile> Prepare(const std::string& path,
                                   absl::string_view bytes, FileSystem& files) {
  const auto write = [&]() -> absl::StatusOr<OutputFile> {
    EK_ASSIGN_OR_RETURN(OutputFile file, OutputFile::Create(path, files));
    EK_RETURN_IF_ERROR(file.Append(bytes));
    EK_RETURN_IF_ERROR(file.Close());
    return file;
  };
  absl::StatusOr<OutputFile> file = write();
  if (!file.ok()) return CannotUse(path, file.status().message());
  return file;
}

}  // namespace

std::string BaselineFolderOf(const ProjectFile& project, FileSystem& files) {
  const std::string& given = project.project().baselines();
  if (!given.empty()) return project.PathOf(given);
  const std::string folder = project.PathOf(kDefaultFolder);
  const std::string name = ShortName(project.path());
  if (name.empty() || name == ShortName(kProjectFileName)) return folder;
  const bool old = files.Stat(JoinPath(folder, name + kListSuffix)).ok();
  return old ? folder : JoinPath(folder, name);
}

Baselines::Baselines(const ProjectFile& project, FileSystem& files)
    : files_(files),
      folder_(BaselineFolderOf(project, files)),
      project_name_(ProjectFrom(folder_, project.path())),
      list_(ListName(project_name_)) {}

std::string Baselines::PathOf(const std::string& name) const {
  return JoinPath(folder_, name);
}

absl::StatusOr<std::optional<std::string>> Baselines::Read(
    const std::string& name) {
  absl::StatusOr<std::string> bytes =
      files_.Read(PathOf(name), kMaxBaselineBytes);
  if (bytes.ok()) return std::optional<std::string>(*std::move(bytes));
  if (absl::IsNotFound(bytes.status())) return std::optional<std::string>();
  return CannotUse(PathOf(name), bytes.status().message());
}

absl::StatusOr<std::set<std::string>> Baselines::ReadList(
    const std::string& path) {
  std::set<std::string> names;
  const absl::StatusOr<std::string> text = files_.Read(path, kMaxListBytes);
  if (absl::IsNotFound(text.status())) return names;
  if (!text.ok()) return CannotUse(path, text.status().message());
  // A line that is not a name of ours is ignored, and so is the file that it
  // names.
  for (const absl::string_view line : absl::StrSplit(*text, '\n')) {
    if (IsBaselineName(std::string(line))) names.emplace(line);
  }
  return names;
}

absl::StatusOr<std::map<std::string, std::string>> Baselines::NamesOfOthers() {
  std::map<std::string, std::string> names;
  const absl::StatusOr<std::vector<std::string>> files = files_.List(folder_);
  if (absl::IsNotFound(files.status())) return names;
  if (!files.ok()) return CannotUse(folder_, files.status().message());
  for (const std::string& file : *files) {
    if (!absl::EndsWith(file, kListSuffix) || file == list_) continue;
    const absl::StatusOr<FileInfo> info = files_.Stat(PathOf(file));
    if (info.ok() && info->is_directory) continue;
    // One that cannot be read may name anything.
    EK_ASSIGN_OR_RETURN(const std::set<std::string> listed,
                        ReadList(PathOf(file)));
    for (const std::string& name : listed) names.emplace(name, PathOf(file));
  }
  return names;
}

absl::Status Baselines::TakenBy(const std::string& name,
                                const std::string& list) const {
  const std::string project = ShortName(project_name_);
  return UsageError(
      absl::StrCat("'", PathOf(name),
                   "' is a baseline of another project, too, and would change"),
      list, "",
      absl::StrCat("give this project a folder of its own, for example "
                   "baselines: \"",
                   kDefaultFolder, "/", CleanText(project),
                   "\"; if the other project is gone, remove its list"));
}

std::string Baselines::ListText(const std::set<std::string>& names) const {
  std::string text = absl::StrCat(
      "# Baselines of ", CleanText(project_name_),
      ".\n# `edgekiln check --update-baselines` writes this list, and removes "
      "files in it\n# whose cells are gone.\n");
  for (const std::string& name : names) absl::StrAppend(&text, name, "\n");
  return text;
}

absl::StatusOr<std::vector<std::string>> Baselines::Stale(
    const std::set<std::string>& cells) {
  EK_ASSIGN_OR_RETURN(const std::set<std::string> listed,
                      ReadList(PathOf(list_)));
  std::vector<std::string> stale;
  for (const std::string& name : listed) {
    if (cells.contains(name)) continue;
    const absl::StatusOr<FileInfo> info = files_.Stat(PathOf(name));
    if (info.ok() && !info->is_directory) stale.push_back(name);
  }
  if (stale.empty()) return stale;
  EK_ASSIGN_OR_RETURN(const auto others, NamesOfOthers());
  std::erase_if(stale,
                [&](const std::string& name) { return others.contains(name); });
  return stale;
}

absl::StatusOr<Baselines::Changes> Baselines::Update(
    const std::map<std::string, std::string>& bytes,
    const std::set<std::string>& cells) {
  Changes changes;
  EK_ASSIGN_OR_RETURN(std::set<std::string> listed, ReadList(PathOf(list_)));
  EK_ASSIGN_OR_RETURN(const std::vector<std::string> stale, Stale(cells));
  EK_RETURN_IF_ERROR(MakeFolder(folder_));
  EK_ASSIGN_OR_RETURN(const auto others, NamesOfOthers());
  std::vector<std::pair<std::string, OutputFile>> prepared;  // By path.
  for (const auto& [name, text] : bytes) {
    const absl::StatusOr<std::string> old =
        files_.Read(PathOf(name), kMaxBaselineBytes);
    listed.insert(name);
    if (old.ok() && *old == text) continue;
    const auto taken = others.find(name);
    if (old.ok() && taken != others.end()) return TakenBy(name, taken->second);
    EK_ASSIGN_OR_RETURN(OutputFile file, Prepare(PathOf(name), text, files_));
    prepared.emplace_back(PathOf(name), std::move(file));
    changes.written.push_back(PathOf(name));
  }
  std::erase_if(listed,
                [&](const std::string& name) { return !cells.contains(name); });
  const std::string list = ListText(listed);
  const std::string path = PathOf(list_);
  const absl::StatusOr<std::string> old = files_.Read(path, kMaxListBytes);
  if (!old.ok() || *old != list) {
    EK_ASSIGN_OR_RETURN(OutputFile file, Prepare(path, list, files_));
    prepared.emplace_back(path, std::move(file));
  }
  for (auto& [to, file] : prepared) {
    const absl::Status committed = file.Commit();
    if (!committed.ok()) return CannotUse(to, committed.message());
  }
  for (const std::string& name : stale) {
    const absl::Status removed = files_.Remove(PathOf(name));
    if (!removed.ok()) return CannotUse(PathOf(name), removed.message());
    changes.removed.push_back(PathOf(name));
  }
  return changes;
}

}  // namespace edgekiln::client
