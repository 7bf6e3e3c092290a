#include "server/worker/stages/source_files.h"

#include <cstdint>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/error.h"
#include "base/file.h"
#include "base/source_path.h"
#include "base/status_macros.h"

namespace edgekiln::server {
namespace {

constexpr int kMaxFiles = 4096;
constexpr size_t kMaxPathBytes = 255;
// As text: several times what the largest simulated memory holds in constants
// of one byte is never compiled.
constexpr int64_t kMaxTreeBytes = int64_t{1} << 30;

absl::Status Refused(absl::string_view what, absl::string_view where,
                     absl::string_view limit) {
  return MakeError(absl::StatusCode::kInvalidArgument,
                   {.fault = Fault::kInfra,
                    .reason = "C_SOURCES_INVALID",
                    .what = std::string(what),
                    .where = std::string(where),
                    .limit = std::string(limit)});
}

bool IsSafePath(absl::string_view path) {
  return path.size() <= kMaxPathBytes && IsSourcePath(path);
}

}  // namespace

absl::Status CheckSourceTree(const v1::CSourceTree& tree) {
  if (tree.files_size() > kMaxFiles) {
    return Refused("too many C files", "c_sources",
                   absl::StrCat(kMaxFiles, " files"));
  }
  int64_t bytes = 0;
  const std::string* last = nullptr;
  for (const v1::CSourceTree::File& file : tree.files()) {
    if (!IsSafePath(file.path())) {
      return Refused("unsafe path of a C file",
                     absl::StrCat("'", file.path(), "'"),
                     "relative, of letters, digits, \"._-\"");
    }
    if (last != nullptr && *last >= file.path()) {
      return Refused("C files are not sorted by path", file.path(), "");
    }
    last = &file.path();
    bytes += static_cast<int64_t>(file.text().size());
  }
  if (bytes > kMaxTreeBytes) {
    return Refused("the C files are too large", "c_sources",
                   absl::StrCat(kMaxTreeBytes, " bytes"));
  }
  return absl::OkStatus();
}

absl::Status WriteSourceTree(const v1::CSourceTree& tree,
                             const std::string& folder) {
  EK_RETURN_IF_ERROR(CheckSourceTree(tree));
  const std::unique_ptr<FileSystem> disk = NewPosixFileSystem();
  for (const v1::CSourceTree::File& file : tree.files()) {
    const std::string path = JoinPath(folder, file.path());
    EK_RETURN_IF_ERROR(disk->CreateDirectories(std::string(ParentPath(path))));
    EK_ASSIGN_OR_RETURN(const std::unique_ptr<WritableFile> out,
                        disk->Open(path, OpenMode::kCreateNew));
    EK_RETURN_IF_ERROR(out->Append(file.text()));
    EK_RETURN_IF_ERROR(out->Close());
  }
  return absl::OkStatus();
}

}  // namespace edgekiln::server
