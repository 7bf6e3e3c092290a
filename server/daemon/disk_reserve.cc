#include "server/daemon/disk_reserve.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "absl/status/statusor.h"
#include "base/file.h"
#include "base/scoped_fd.h"
#include "cache/disk_space.h"

namespace edgekiln::server {
namespace {

bool Holds(const std::string& path, int64_t bytes) {
  struct stat info = {};
  // Blocks, not the size: a sparse file reserves nothing.
  return stat(path.c_str(), &info) == 0 && info.st_blocks * 512 >= bytes;
}

// 0, or an errno.
int Allocate(const std::string& path, int64_t bytes) {
  // Neither a pipe that nobody reads nor a link is the file it should be.
  const ScopedFd file(
      open(path.c_str(),
           O_CREAT | O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600));
  if (!file.valid()) return errno;
  const int failed = posix_fallocate(file.get(), 0, bytes);
  if (failed != 0) unlink(path.c_str());
  return failed;
}

}  // namespace

void PrepareDiskReserve(const std::string& state_folder, int64_t bytes,
                        Logger& log) {
  const std::string path = JoinPath(state_folder, "reserve");
  const absl::StatusOr<int64_t> free = cache::FreeBytes(state_folder);
  if (!free.ok() || bytes <= 0) return;
  if (*free < bytes) {
    log.Warning("the disk of ", state_folder, " has ", *free,
                " bytes free: jobs and uploads are refused until there are "
                "more; what is finished can be read");
    unlink(path.c_str());
    return;
  }
  if (Holds(path, bytes)) return;
  // Creating it must not bring about what it is for.
  if (*free < 2 * bytes) return;
  if (const int failed = Allocate(path, bytes); failed != 0) {
    log.Warning("no room is reserved in ", state_folder, ": ",
                strerror(failed));
  }
}

}  // namespace edgekiln::server
