#include "cache/set_aside.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status_macros.h"

namespace edgekiln::cache {
namespace {

constexpr int kMaxAside = 1000;

}  // namespace

absl::Status SetAside(FileSystem& files, const std::string& path,
                      std::string* aside) {
  for (int i = 1; i <= kMaxAside; ++i) {
    const std::string free = absl::StrCat(path, ".damaged-", i);
    if (!absl::IsNotFound(files.Stat(free).status())) continue;
    EK_RETURN_IF_ERROR(files.Rename(path, free));
    if (aside != nullptr) *aside = free;
    return files.SyncDirectory(ParentPath(path));
  }
  return MakeError(absl::StatusCode::kUnavailable,
                   {.fault = Fault::kInfra,
                    .reason = "STATE_DAMAGED",
                    .what = "too many damaged files were set aside",
                    .where = path,
                    .limit = absl::StrCat(kMaxAside, " of a name"),
                    .fix = "remove those that end in .damaged-*, and check the "
                           "disk"});
}

void Discard(FileSystem& files, const std::string& path) {
  const absl::Status removed = files.Remove(path);
  if (removed.ok() || absl::IsNotFound(removed)) return;
  SetAside(files, path).IgnoreError();
}

absl::Status EnsureFolder(FileSystem& files, const std::string& path) {
  const absl::StatusOr<FileInfo> info = files.Stat(path);
  if (info.ok() && !info->is_directory) {
    EK_RETURN_IF_ERROR(SetAside(files, path));
  }
  absl::Status made = files.CreateDirectories(path);
  // A link that leads nowhere: it is no folder, and mkdir() finds it there.
  if (absl::IsAlreadyExists(made) && absl::IsNotFound(info.status())) {
    EK_RETURN_IF_ERROR(SetAside(files, path));
    made = files.CreateDirectories(path);
  }
  return made;
}

bool IsUnreadable(const absl::Status& status) {
  if (absl::IsInvalidArgument(status) || absl::IsPermissionDenied(status)) {
    return true;
  }
  const std::optional<ErrorDetail> detail = GetErrorDetail(status);
  return detail.has_value() && detail->reason == "FILE_IO";
}

}  // namespace edgekiln::cache
