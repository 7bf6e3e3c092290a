#include "server/daemon/jobs/job_files.h"

#include <errno.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status_macros.h"

namespace edgekiln::server {
namespace {

constexpr const char* kSuffixes[] = {"", "-wal", "-shm"};
constexpr int kMaxAside = 1000;

bool Exists(const std::string& path) {
  struct stat info;
  return lstat(path.c_str(), &info) == 0;
}

// Of the next files that are set aside.
int FreeNumber(const std::string& path) {
  int number = 1;
  const auto taken = [&] {
    return std::any_of(
        std::begin(kSuffixes), std::end(kSuffixes), [&](const char* suffix) {
          return Exists(absl::StrCat(path, ".damaged-", number, suffix));
        });
  };
  while (taken()) ++number;
  return number;
}

}  // namespace

bool HasBytes(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 && info.st_size > 0;
}

absl::Status SetDatabaseAside(FileSystem& files, const std::string& path,
                              std::string* aside) {
  aside->clear();
  const int number = FreeNumber(path);
  if (number > kMaxAside) {
    return MakeError(
        absl::StatusCode::kUnavailable,
        {.fault = Fault::kInfra,
         .reason = "STATE_DAMAGED",
         .what = "the job database is damaged once more",
         .where = path,
         .limit = absl::StrCat(kMaxAside, " damaged ones are kept"),
         .need = "another one",
         .fix = "remove files that end in .damaged-*, and check the disk"});
  }
  const std::string to = absl::StrCat(path, ".damaged-", number);
  for (const char* suffix : kSuffixes) {
    if (!Exists(path + suffix)) continue;
    EK_RETURN_IF_ERROR(files.Rename(path + suffix, to + suffix));
    *aside = to;
  }
  return files.SyncDirectory(ParentPath(path));
}

std::string CopyLogAside(const std::string& path) {
  const int number = FreeNumber(path);
  if (number > kMaxAside) return "";
  const std::string to = absl::StrCat(path, ".damaged-", number, "-wal");
  std::error_code failed;
  std::filesystem::copy_file(absl::StrCat(path, "-wal"), to, failed);
  if (!failed) return to;
  // Half a copy is of no use, and the disk may be full.
  std::filesystem::remove(to, failed);
  return "";
}

absl::Status MoveStrangeFiles(FileSystem& files, const std::string& path) {
  for (const char* suffix : kSuffixes) {
    struct stat info;
    const std::string file = path + suffix;
    if (lstat(file.c_str(), &info) != 0) continue;
    // Somebody may keep the database elsewhere.
    if (S_ISLNK(info.st_mode) && stat(file.c_str(), &info) != 0) info = {};
    if (S_ISREG(info.st_mode)) continue;
    std::string aside;
    return SetDatabaseAside(files, path, &aside);
  }
  return absl::OkStatus();
}

bool OpenFileWatch::Same(const std::string& path, bool may_shrink,
                         Known& known) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0) {
    // It is made when it is needed first. Another error than that it is gone
    // says nothing.
    return known.inode == 0 || (errno != ENOENT && errno != ENOTDIR);
  }
  if (known.inode == 0) {
    known.inode = info.st_ino;
    known.device = info.st_dev;
  }
  const bool shrunk = !may_shrink && info.st_size < known.size_bytes;
  known.size_bytes = info.st_size;
  return info.st_ino == known.inode && info.st_dev == known.device && !shrunk;
}

absl::Status OpenFileWatch::Check() {
  MutexLock lock(mutex_);
  if (!lost_) {
    lost_ = !Same(path_, /*may_shrink=*/false, database_) ||
            !Same(absl::StrCat(path_, "-wal"), /*may_shrink=*/true, log_);
  }
  if (!lost_) return absl::OkStatus();
  return MakeError(
      absl::StatusCode::kUnavailable,
      {.fault = Fault::kInfra,
       .reason = "STATE_REMOVED",
       .what = "the job database was removed or replaced while the daemon ran",
       .where = path_,
       .need = "the file that the daemon opened",
       .fix = "restart the daemon; jobs that were in it may be gone"});
}

}  // namespace edgekiln::server
