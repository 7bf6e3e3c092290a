#include "base/private_folder.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "base/error.h"

namespace edgekiln {
namespace {

absl::Status Unusable(const char* what, const std::string& folder) {
  return MakeError(absl::StatusCode::kUnavailable,
                   {.fault = Fault::kInfra,
                    .reason = "RUNTIME_FOLDER_UNUSABLE",
                    .what = what,
                    .where = absl::StrCat(folder, ": ", strerror(errno)),
                    .fix = "set XDG_RUNTIME_DIR to a folder of your own"});
}

absl::Status Unsafe(const char* what, const std::string& folder,
                    const char* need) {
  return MakeError(absl::StatusCode::kPermissionDenied,
                   {.fault = Fault::kInfra,
                    .reason = "RUNTIME_FOLDER_UNSAFE",
                    .what = what,
                    .where = folder,
                    .need = need,
                    .fix = "remove it, or set XDG_RUNTIME_DIR to a folder of "
                           "your own"});
}

}  // namespace

absl::Status MakePrivateFolder(const std::string& folder) {
  if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
    return Unusable("the runtime folder cannot be created", folder);
  }
  struct stat info;
  if (lstat(folder.c_str(), &info) != 0) {
    return Unusable("the runtime folder cannot be read", folder);
  }
  if (!S_ISDIR(info.st_mode) || info.st_uid != geteuid()) {
    return Unsafe("the runtime folder is not yours", folder,
                  "a folder that belongs to you");
  }
  if ((info.st_mode & 077) != 0) {
    return Unsafe("the runtime folder is open to others", folder, "mode 0700");
  }
  return absl::OkStatus();
}

}  // namespace edgekiln
