#include "client/check/baselines.h"

#include <cstdint>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"
#include "client/check/cell_names.h"
#include "client/exit_code.h"
#include "client/output_file.h"
#include "client/render/text.h"

namespace edgekiln::client {
namespace {

constexpr int64_t kMaxBaselineBytes = int64_t{64} << 20;
constexpr int64_t kMaxListBytes = int64_t{8} << 20;

std::string NameOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? path : path.substr(slash + 1);
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

Baselines::Baselines(const ProjectFile& project, FileSystem& files)
    : files_(files),
      folder_(project.BaselineFolder()),
      project_name_(NameOf(project.path())),
      list_(JoinPath(
          folder_,
          absl::StrCat(absl::StripSuffix(project_name_, ".txtpb"), ".list"))) {}

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

absl::StatusOr<std::set<std::string>> Baselines::ReadList() {
  std::set<std::string> names;
  const absl::StatusOr<std::string> text = files_.Read(list_, kMaxListBytes);
  if (absl::IsNotFound(text.status())) return names;
  if (!text.ok()) return CannotUse(list_, text.status().message());
  // A line that does not look like one of ours is left alone, and what it
  // names.
  for (const absl::string_view line : absl::StrSplit(*text, '\n')) {
    if (IsBaselineName(std::string(line))) names.emplace(line);
  }
  return names;
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
  EK_ASSIGN_OR_RETURN(const std::set<std::string> listed, ReadList());
  std::vector<std::string> stale;
  for (const std::string& name : listed) {
    if (cells.contains(name)) continue;
    const absl::StatusOr<FileInfo> info = files_.Stat(PathOf(name));
    if (info.ok() && !info->is_directory) stale.push_back(name);
  }
  return stale;
}

absl::StatusOr<Baselines::Changes> Baselines::Update(
    const std::map<std::string, std::string>& bytes,
    const std::set<std::string>& cells) {
  Changes changes;
  EK_ASSIGN_OR_RETURN(std::set<std::string> listed, ReadList());
  EK_ASSIGN_OR_RETURN(const std::vector<std::string> stale, Stale(cells));
  EK_RETURN_IF_ERROR(MakeFolder(folder_));
  std::vector<OutputFile> prepared;
  for (const auto& [name, text] : bytes) {
    const absl::StatusOr<std::string> old =
        files_.Read(PathOf(name), kMaxBaselineBytes);
    listed.insert(name);
    if (old.ok() && *old == text) continue;
    EK_ASSIGN_OR_RETURN(OutputFile file, Prepare(PathOf(name), text, files_));
    prepared.push_back(std::move(file));
    changes.written.push_back(PathOf(name));
  }
  std::erase_if(listed,
                [&](const std::string& name) { return !cells.contains(name); });
  const std::string list = ListText(listed);
  const absl::StatusOr<std::string> old = files_.Read(list_, kMaxListBytes);
  if (!old.ok() || *old != list) {
    EK_ASSIGN_OR_RETURN(OutputFile file, Prepare(list_, list, files_));
    prepared.push_back(std::move(file));
  }
  for (OutputFile& file : prepared) EK_RETURN_IF_ERROR(file.Commit());
  for (const std::string& name : stale) {
    const absl::Status removed = files_.Remove(PathOf(name));
    if (!removed.ok()) return CannotUse(PathOf(name), removed.message());
    changes.removed.push_back(PathOf(name));
  }
  return changes;
}

}  // namespace edgekiln::client
