#ifndef EK_CACHE_TESTING_CRASHING_FILE_SYSTEM_H_
#define EK_CACHE_TESTING_CRASHING_FILE_SYSTEM_H_

// For tests: files in memory that forget, at a crash, what was not synced, and
// that can stop working at any operation. Thread-safe.

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/mutex.h"

namespace edgekiln::cache {

class CrashingFileSystem : public FileSystem {
 public:
  // Every change from the `count`-th on (0 = the next) fails with UNAVAILABLE;
  // the one it strikes may have been done in part.
  void FailAfter(int64_t count);
  // Power failure and restart: contents not synced and names whose folder was
  // not synced are as they were. Works again afterwards. Folders survive.
  void Crash();
  // Changes asked for so far, including failed ones.
  int64_t changes();
  // Is called before each Sync() of a file, without a lock. May be empty.
  void OnSync(std::function<void()> hook) { on_sync_ = std::move(hook); }
  // Files open for writing.
  int open_files() const { return open_files_; }

  // The time at which files opened from now on are written; 1970 at first.
  void SetTime(absl::Time now);

  // What lies on the disk, for tests that damage it.
  bool Exists(const std::string& path);
  void Overwrite(const std::string& path, const std::string& contents);

  absl::StatusOr<std::unique_ptr<WritableFile>> Open(const std::string& path,
                                                     OpenMode mode) override;
  absl::StatusOr<std::string> Read(const std::string& path,
                                   int64_t max_bytes) override;
  absl::StatusOr<std::string> ReadRange(const std::string& path, int64_t offset,
                                        int64_t max_bytes) override;
  absl::StatusOr<FileInfo> Stat(const std::string& path) override;
  absl::Status SetModified(const std::string& path,
                           absl::Time modified) override;
  absl::Status Rename(const std::string& from, const std::string& to) override;
  absl::Status Remove(const std::string& path) override;
  absl::Status CreateDirectories(const std::string& path) override;
  absl::Status SyncFile(const std::string& path) override;
  absl::Status SyncDirectory(const std::string& path) override;
  absl::StatusOr<std::vector<std::string>> List(
      const std::string& path) override;

 private:
  struct Contents {  // Guarded by mutex_.
    std::string now;
    std::string synced;
    absl::Time modified;
  };
  using Names = std::map<std::string, std::shared_ptr<Contents>>;
  class File;

  // Counts a change; non-OK if it is to fail.
  absl::Status Change() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  std::atomic<int> open_files_{0};
  std::function<void()> on_sync_;
  Mutex mutex_;
  Names names_ ABSL_GUARDED_BY(mutex_);
  Names synced_names_ ABSL_GUARDED_BY(mutex_);
  std::set<std::string> folders_ ABSL_GUARDED_BY(mutex_);
  absl::Time time_ ABSL_GUARDED_BY(mutex_) = absl::UnixEpoch();
  int64_t changes_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t fail_from_ ABSL_GUARDED_BY(mutex_) = INT64_MAX;
};

}  // namespace edgekiln::cache

#endif  // EK_CACHE_TESTING_CRASHING_FILE_SYSTEM_H_
