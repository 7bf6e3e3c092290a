#ifndef EK_BASE_FILE_H_
#define EK_BASE_FILE_H_

// Files behind an interface, so that tests can put a layer in between that
// fails, or that forgets what was not synced.
//
// Errors: NOT_FOUND, ALREADY_EXISTS, PERMISSION_DENIED as the system says;
// RESOURCE_EXHAUSTED (Fault::kInfra) for a full disk; UNAVAILABLE
// (Fault::kInfra) for other failures. Each names the path. Implementations are
// thread-safe; a WritableFile is not.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace edgekiln {

enum class OpenMode {
  kCreateNew,  // ALREADY_EXISTS if there is such a file.
  kTruncate,   // Creates or empties.
  kAppend,     // Creates or continues.
  // The same for large files that are written faster than the page cache takes
  // them and would drive all else out of it: past the cache, if the file system
  // can.
  kAppendUncached,
};

struct FileInfo {
  int64_t size_bytes = 0;
  bool is_directory = false;
  absl::Time modified;
};

// A file being written. Destruction closes it without syncing.
class WritableFile {
 public:
  virtual ~WritableFile() = default;
  virtual absl::Status Append(absl::string_view bytes) = 0;
  // Returns once the contents survive a power failure. The name does only
  // after FileSystem::SyncDirectory().
  virtual absl::Status Sync() = 0;
  virtual absl::Status Close() = 0;
};

class FileSystem {
 public:
  virtual ~FileSystem() = default;

  virtual absl::StatusOr<std::unique_ptr<WritableFile>> Open(
      const std::string& path, OpenMode mode) = 0;
  // The whole file. INVALID_ARGUMENT with reason FILE_TOO_LARGE if it exceeds
  // `max_bytes` (checked before allocation), or if it is not a regular file.
  virtual absl::StatusOr<std::string> Read(const std::string& path,
                                           int64_t max_bytes) = 0;
  // At most `max_bytes` from `offset` on; fewer only at the end of the file.
  virtual absl::StatusOr<std::string> ReadRange(const std::string& path,
                                                int64_t offset,
                                                int64_t max_bytes) = 0;
  virtual absl::StatusOr<FileInfo> Stat(const std::string& path) = 0;
  // Makes it the file's time of modification. Not durable by itself.
  virtual absl::Status SetModified(const std::string& path,
                                   absl::Time modified) = 0;
  // Replaces `to` atomically.
  virtual absl::Status Rename(const std::string& from,
                              const std::string& to) = 0;
  // A file or an empty folder.
  virtual absl::Status Remove(const std::string& path) = 0;
  // With all parents, mode 0700. Existing folders are not an error.
  virtual absl::Status CreateDirectories(const std::string& path) = 0;
  // As WritableFile::Sync(), for a file that was written and closed before.
  virtual absl::Status SyncFile(const std::string& path) = 0;
  // Returns once creations, renames and removals in the folder are durable.
  virtual absl::Status SyncDirectory(const std::string& path) = 0;
  // Names in the folder, sorted, without "." and "..".
  virtual absl::StatusOr<std::vector<std::string>> List(
      const std::string& path) = 0;
};

// The machine's own.
std::unique_ptr<FileSystem> NewPosixFileSystem();

// Makes `path` hold `bytes`, durably: after a crash it holds the old contents
// or the new ones, and the new ones once this returned OK. Writes a temporary
// sibling "<path>.tmp.*", which a crash may leave behind.
absl::Status WriteAtomically(FileSystem& files, const std::string& path,
                             absl::string_view bytes);

// The same without waiting for the disk: a power failure may leave anything at
// `path`. Only for files that are checked when they are read, and can be made
// again.
absl::Status WriteBuffered(FileSystem& files, const std::string& path,
                           absl::string_view bytes);

// Whether `name` is a left-over of these.
bool IsTemporaryName(absl::string_view name);

// "a/b" and "c" to "a/b/c".
std::string JoinPath(absl::string_view folder, absl::string_view name);
// The folder of a path: "a/b" of "a/b/c", "." of "c", "/" of "/c".
std::string ParentPath(absl::string_view path);

}  // namespace edgekiln

#endif  // EK_BASE_FILE_H_
