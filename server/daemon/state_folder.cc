#include "server/daemon/state_folder.h"

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "base/error.h"
#include "base/status_macros.h"

namespace edgekiln::server {

absl::Status MakeStateFolder(FileSystem& files, const std::string& path) {
  const absl::Status made = files.CreateDirectories(path);
  // Of the daemon's errors, this code is for a folder in use.
  if (!absl::IsAlreadyExists(made)) return Annotate(made, "state folder");
  return MakeError(absl::StatusCode::kUnavailable,
                   {.fault = Fault::kInfra,
                    .reason = "STATE_FOLDER",
                    .what = "the state path is not a folder",
                    .where = path,
                    .fix = "remove the file, or give another --state folder"});
}

bool HasEntries(FileSystem& files, const std::string& path) {
  const absl::StatusOr<std::vector<std::string>> names = files.List(path);
  return names.ok() && !names->empty();
}

void WarnOfDamage(FileSystem& files, const std::string& path, Logger& log) {
  const absl::StatusOr<std::vector<std::string>> names = files.List(path);
  if (!names.ok()) return;
  for (const std::string& name : *names) {
    if (!absl::StrContains(name, ".damaged-")) continue;
    log.Warning(
        JoinPath(path, name),
        " was damaged and is set aside; remove it once it is of no use");
  }
}

}  // namespace edgekiln::server
