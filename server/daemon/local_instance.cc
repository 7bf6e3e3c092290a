#include "server/daemon/local_instance.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/error.h"

namespace edgekiln::server {
namespace {

absl::Status FolderError(absl::StatusCode code, absl::string_view what,
                         const std::string& path, absl::string_view fix) {
  return MakeError(code, {.fault = Fault::kInfra,
                          .reason = "FOLDER",
                          .what = std::string(what),
                          .where = path,
                          .fix = std::string(fix)});
}

// XDG folders must be absolute; others are to be ignored.
std::string XdgFolder(const char* variable) {
  const char* value = getenv(variable);
  return value != nullptr && value[0] == '/' ? value : "";
}

absl::StatusOr<std::string> HomeFolder() {
  const char* home = getenv("HOME");
  if (home != nullptr && home[0] == '/') return std::string(home);
  const passwd* entry = getpwuid(geteuid());
  if (entry != nullptr && entry->pw_dir[0] == '/') {
    return std::string(entry->pw_dir);
  }
  return FolderError(absl::StatusCode::kUnavailable,
                     "the user has no home folder", "", "give --state DIR");
}

absl::StatusOr<std::string> XdgOrHome(const char* variable,
                                      absl::string_view below_home) {
  const std::string folder = XdgFolder(variable);
  if (!folder.empty()) return folder + "/edgekiln";
  const absl::StatusOr<std::string> home = HomeFolder();
  if (!home.ok()) return home.status();
  return absl::StrCat(*home, "/", below_home, "/edgekiln");
}

}  // namespace

absl::StatusOr<FileLock> FileLock::Acquire(const std::string& path) {
  ScopedFd fd(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!fd.valid()) {
    return FolderError(absl::StatusCode::kUnavailable,
                       absl::StrCat("cannot open the lock: ", strerror(errno)),
                       path, "check the folder's owner and mode");
  }
  if (flock(fd.get(), LOCK_EX | LOCK_NB) == 0) return FileLock(std::move(fd));
  const int error = errno;
  if (error == EWOULDBLOCK) {
    return FolderError(absl::StatusCode::kAlreadyExists,
                       "another edgekilnd uses this folder", path,
                       "use that one, or give another --state folder");
  }
  return FolderError(absl::StatusCode::kUnavailable,
                     absl::StrCat("cannot lock: ", strerror(error)), path,
                     "use a folder on a local disk");
}

bool FileLock::IsLost() const {
  struct stat info;
  return fstat(fd_.get(), &info) == 0 && info.st_nlink == 0;
}

std::string RuntimeFolder() {
  const std::string folder = XdgFolder("XDG_RUNTIME_DIR");
  if (!folder.empty()) return folder + "/edgekiln";
  return absl::StrCat("/tmp/edgekiln-", geteuid());
}

std::string LocalWorkersSocket() { return RuntimeFolder() + "/workers.sock"; }

absl::StatusOr<std::string> StateFolder() {
  return XdgOrHome("XDG_STATE_HOME", ".local/state");
}

absl::StatusOr<std::string> CacheFolder() {
  return XdgOrHome("XDG_CACHE_HOME", ".cache");
}

}  // namespace edgekiln::server
