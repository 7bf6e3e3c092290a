#ifndef EK_SERVER_DAEMON_LOCAL_INSTANCE_H_
#define EK_SERVER_DAEMON_LOCAL_INSTANCE_H_

// Folders and locks: one process per state folder, one local daemon per user.

#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/scoped_fd.h"

namespace edgekiln::server {

// An exclusive lock on a file, held until destruction or the end of the
// process, however it ends. Movable.
class FileLock {
 public:
  // Creates the file if needed. ALREADY_EXISTS if another process holds it; the
  // error names the address that it has noted, or says that its socket is gone.
  static absl::StatusOr<FileLock> Acquire(const std::string& path);
  // Writes into the file where the holder can be reached. Best effort.
  void NoteAddress(const std::string& address) const;
  // Whether the file is gone from its place, with its folder or alone: another
  // process could lock its successor.
  bool IsLost() const;

 private:
  FileLock(ScopedFd fd, std::string path)
      : fd_(std::move(fd)), path_(std::move(path)) {}
  // The file stays: removing it could unlock a successor's.
  ScopedFd fd_;
  std::string path_;
};

// $XDG_RUNTIME_DIR/edgekiln, or /tmp/edgekiln-UID.
std::string RuntimeFolder();
// On which the local daemon listens for workers.
std::string LocalWorkersSocket();
// $XDG_STATE_HOME/edgekiln, or ~/.local/state/edgekiln.
absl::StatusOr<std::string> StateFolder();
// $XDG_CACHE_HOME/edgekiln, or ~/.cache/edgekiln.
absl::StatusOr<std::string> CacheFolder();

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_LOCAL_INSTANCE_H_
