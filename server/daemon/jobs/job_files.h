#ifndef EK_SERVER_DAEMON_JOBS_JOB_FILES_H_
#define EK_SERVER_DAEMON_JOBS_JOB_FILES_H_

// The files of the job database, as files: jobs.db, its log jobs.db-wal, its
// index jobs.db-shm, and the mark jobs.db.made, which says that there was one.

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "base/file.h"
#include "base/mutex.h"

namespace edgekiln::server {

// Whether there is something at `path` with bytes in it.
bool HasBytes(const std::string& path);

// Renames the files of the database at `path` that are there to
// "<path>.damaged-<n>", "<path>.damaged-<n>-wal" and so on, which SQLite opens
// as a database of its own; the new path in `aside`, "" if none was there.
absl::Status SetDatabaseAside(FileSystem& files, const std::string& path,
                              std::string* aside);

// Copies the log of the database at `path` to "<path>.damaged-<n>-wal"; the
// copy's path, "" if it could not be made.
std::string CopyLogAside(const std::string& path);

// Moves things that are no regular files out of the way of SQLite, which would
// wait for a named pipe.
absl::Status MoveStrangeFiles(FileSystem& files, const std::string& path);

// Notices that the files of an open database were removed, replaced or cut:
// SQLite goes on with what no later process finds. Thread-safe.
class OpenFileWatch {
 public:
  explicit OpenFileWatch(std::string path) : path_(std::move(path)) {}

  // UNAVAILABLE with reason STATE_REMOVED, from then on. Cheap.
  absl::Status Check();

 private:
  struct Known {
    ino_t inode = 0;
    dev_t device = 0;
    int64_t size_bytes = 0;
  };
  bool Same(const std::string& path, bool may_shrink, Known& known)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::string path_;
  Mutex mutex_;
  Known database_ ABSL_GUARDED_BY(mutex_);
  Known log_ ABSL_GUARDED_BY(mutex_);
  bool lost_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_JOBS_JOB_FILES_H_
