#ifndef EK_SERVER_DAEMON_FARM_QUARANTINE_H_
#define EK_SERVER_DAEMON_FARM_QUARANTINE_H_

// Stages that are not tried again, as each of them would fail again with the
// same inputs (retry_policy.h says what shows that): everyone who asks is told
// so at once, until somebody releases them. A new build makes other keys and
// tries again.
//
// One file per stage in a folder, named by the stage's key. Thread-safe; what
// only asks never waits for the disk.

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mutex.h"
#include "edgekiln/v1/jobs.pb.h"

namespace edgekiln::server {

class Quarantine {
 public:
  // The oldest go beyond that many.
  static constexpr int kMaxStages = 10'000;
  // Of those released, how many are remembered as such.
  static constexpr int kMaxReleased = 100;

  // Reads the folder, which is made when it is first needed. Files that are not
  // ours or damaged are removed and logged: at worst a stage is tried again.
  // Arguments must outlive it. Errors: UNAVAILABLE (the folder is unreadable).
  static absl::StatusOr<std::unique_ptr<Quarantine>> Open(
      FileSystem& files, const std::string& folder, Logger& log);

  // OK, or why `key` is not tried: INTERNAL with reason INPUT_QUARANTINED,
  // what happened, since when, and how to release it.
  absl::Status Check(const std::string& key) const;

  // What Check() says of a stage.
  static absl::Status NotTried(const v1::QuarantinedStage& stage);

  // `stage.id` must be a stage key. Kept in memory even if the disk refuses it,
  // which is logged.
  void Add(v1::QuarantinedStage stage);

  // Newest first; a page ends early at 2 MiB. Errors: INVALID_ARGUMENT (bad
  // page token or size).
  absl::StatusOr<v1::ListQuarantineResponse> List(
      const v1::ListQuarantineRequest& request) const;

  int size() const {
    MutexLock lock(mutex_);
    return static_cast<int>(stages_.size());
  }

  // `id`: a key, or at least eight digits that begin only one. The answer is
  // what was released, also to a call that comes again because its answer was
  // lost: what was released lately counts as released. Errors: NOT_FOUND,
  // INVALID_ARGUMENT (no id, or begins several), those of the disk: then it
  // stays.
  absl::StatusOr<v1::QuarantinedStage> Release(const std::string& id);

 private:
  // Newest last: since (in ns) and key.
  using Age = std::pair<int64_t, std::string>;

  Quarantine(FileSystem& files, std::string folder, Logger& log)
      : files_(files), folder_(std::move(folder)), log_(log) {}

  absl::Status Load();
  // Returns the keys of those that had to go for it.
  std::vector<std::string> Insert(v1::QuarantinedStage stage)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::StatusOr<v1::QuarantinedStage> Find(const std::string& id) const;
  absl::Status Store(const v1::QuarantinedStage& stage)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(disk_mutex_);
  void RemoveFiles(const std::vector<std::string>& keys)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(disk_mutex_);
  std::string PathOf(const std::string& key) const;

  FileSystem& files_;
  const std::string folder_;
  Logger& log_;
  // Of those that change the folder, while the disk works. Taken before the
  // other.
  Mutex disk_mutex_;
  mutable Mutex mutex_;
  std::map<std::string, v1::QuarantinedStage> stages_ ABSL_GUARDED_BY(mutex_);
  std::map<Age, std::string> by_age_ ABSL_GUARDED_BY(mutex_);
  // Newest last.
  std::deque<v1::QuarantinedStage> released_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_FARM_QUARANTINE_H_
