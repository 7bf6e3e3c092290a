#include "server/worker/scratch_folder.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/error.h"

namespace edgekiln::server {
namespace {

namespace fs = std::filesystem;

// Processes that were just killed may still finish a write.
constexpr int kRemovals = 20;
constexpr useconds_t kRemovalPause = 5000;
// A younger folder may not be locked yet.
constexpr time_t kAbandonedSeconds = 60;

absl::Status NoFolder(int error, const std::string& path) {
  return MakeError(absl::StatusCode::kUnavailable,
                   {.fault = Fault::kInfra,
                    .reason = "WORKER_NO_FOLDER",
                    .what = absl::StrCat("a worker could not make a folder: ",
                                         strerror(error)),
                    .where = path,
                    .fix = "free disk space, or set TMPDIR for the worker"});
}

ScopedFd OpenFolder(const std::string& path) {
  return ScopedFd(
      open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

}  // namespace

absl::StatusOr<std::unique_ptr<ScratchFolder>> ScratchFolder::Make(
    const std::string& parent, absl::string_view prefix) {
  std::string path = absl::StrCat(parent, "/", prefix, "XXXXXX");
  if (mkdtemp(path.data()) == nullptr) return NoFolder(errno, path);
  ScopedFd lock = OpenFolder(path);
  if (!lock.valid() || flock(lock.get(), LOCK_SH | LOCK_NB) != 0) {
    const int error = errno;
    rmdir(path.c_str());
    return NoFolder(error, path);
  }
  return std::unique_ptr<ScratchFolder>(
      new ScratchFolder(std::move(path), std::move(lock)));
}

ScratchFolder::~ScratchFolder() { RemoveFolder(path_); }

void RemoveFolder(const std::string& path) {
  std::error_code error;
  for (int i = 0; i < kRemovals; ++i) {
    fs::remove_all(path, error);
    if (!error) return;
    usleep(kRemovalPause);
  }
}

std::string TemporaryFolder() {
  const char* const folder = getenv("TMPDIR");
  return folder != nullptr && *folder == '/' ? folder : "/tmp";
}

void RemoveAbandoned(const std::string& parent, absl::string_view prefix) {
  std::error_code error;
  std::vector<std::string> found;
  for (const fs::directory_entry& entry :
       fs::directory_iterator(parent, error)) {
    if (absl::StartsWith(entry.path().filename().string(), prefix)) {
      found.push_back(entry.path().string());
    }
  }
  for (const std::string& path : found) {
    const ScopedFd folder = OpenFolder(path);
    struct stat info = {};
    if (!folder.valid() || fstat(folder.get(), &info) != 0 ||
        info.st_uid != geteuid() ||
        info.st_mtime + kAbandonedSeconds > time(nullptr) ||
        flock(folder.get(), LOCK_EX | LOCK_NB) != 0) {
      continue;
    }
    fs::remove_all(path, error);
  }
}

}  // namespace edgekiln::server
