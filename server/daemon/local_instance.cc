#include "server/daemon/local_instance.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
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

// The first line of a held lock's file, if it is an address.
std::string NotedAddress(int fd) {
  char text[256];
  const ssize_t size = pread(fd, text, sizeof(text), 0);
  absl::string_view line(text, size > 0 ? static_cast<size_t>(size) : 0);
  const size_t end = line.find('\n');
  if (end == absl::string_view::npos) return "";
  line = line.substr(0, end);
  const bool printable = std::all_of(line.begin(), line.end(), [](char c) {
    return absl::ascii_isgraph(static_cast<unsigned char>(c));
  });
  return printable ? std::string(line) : "";
}

// What somebody can do who wants the folder of the daemon at that address.
std::string HowToUse(const std::string& address) {
  if (address.empty()) return "use that one";
  absl::string_view socket = address;
  if (absl::ConsumePrefix(&socket, "unix:") &&
      access(std::string(socket).c_str(), F_OK) != 0) {
    return absl::StrCat("wait until it has finished its jobs, or end it (",
                        socket, " is gone: nobody can connect to it)");
  }
  return absl::StrCat("use that one (edgekiln --server ", address, ")");
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
  if (flock(fd.get(), LOCK_EX | LOCK_NB) == 0) {
    return FileLock(std::move(fd), path);
  }
  const int error = errno;
  if (error == EWOULDBLOCK) {
    return FolderError(absl::StatusCode::kAlreadyExists,
                       "another edgekilnd uses this folder", path,
                       absl::StrCat(HowToUse(NotedAddress(fd.get())),
                                    ", or give another --state folder"));
  }
  return FolderError(absl::StatusCode::kUnavailable,
                     absl::StrCat("cannot lock: ", strerror(error)), path,
                     "use a folder on a local disk");
}

void FileLock::NoteAddress(const std::string& address) const {
  const std::string line = address + "\n";
  if (ftruncate(fd_.get(), 0) != 0 ||
      pwrite(fd_.get(), line.data(), line.size(), 0) < 0) {
    return;  // The error of others has no address then.
  }
}

// The folder may have gone with a file system that was unmounted below us: the
// file has its link then.
bool FileLock::IsLost() const {
  struct stat held;
  struct stat there;
  if (fstat(fd_.get(), &held) != 0) return false;
  if (stat(path_.c_str(), &there) != 0) {
    return errno == ENOENT || errno == ENOTDIR;
  }
  return held.st_ino != there.st_ino || held.st_dev != there.st_dev;
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
