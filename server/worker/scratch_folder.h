#ifndef EK_SERVER_WORKER_SCRATCH_FOLDER_H_
#define EK_SERVER_WORKER_SCRATCH_FOLDER_H_

// Folders for files of the moment.

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/scoped_fd.h"

namespace edgekiln::server {

// An empty folder, of mode 0700, that is removed with all that is in it.
class ScratchFolder {
 public:
  // Within `parent`, under a name that begins with `prefix`. UNAVAILABLE
  // (Fault::kInfra) if it cannot be made.
  static absl::StatusOr<std::unique_ptr<ScratchFolder>> Make(
      const std::string& parent, absl::string_view prefix);
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const std::string& path() const { return path_; }

 private:
  ScratchFolder(std::string path, ScopedFd lock)
      : path_(std::move(path)), lock_(std::move(lock)) {}

  const std::string path_;
  const ScopedFd lock_;  // Tells that the folder is in use.
};

// Where programs put such files: $TMPDIR, or /tmp.
std::string TemporaryFolder();

// Removes the folder and all that is in it, also while somebody who was just
// killed finishes a write there.
void RemoveFolder(const std::string& path);

// Removes folders with this prefix that a process of this user left behind
// because it was killed.
void RemoveAbandoned(const std::string& parent, absl::string_view prefix);

}  // namespace edgekiln::server

#endif  // EK_SERVER_WORKER_SCRATCH_FOLDER_H_
