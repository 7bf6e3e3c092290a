#ifndef EK_CACHE_EVICTOR_H_
#define EK_CACHE_EVICTOR_H_

// Keeps what a cache holds below a limit by removing what was used longest ago.
// The only bookkeeping is the time of modification of the files themselves,
// which every use brings up to date: nothing to load at the start, nothing to
// repair after a crash. See docs/design/0007-eviction.md.

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <thread>
#include <unordered_set>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/mutex.h"

namespace edgekiln::cache {

// What must stay whatever the limit says.
struct StillNeeded {
  // Used at that time or later, as by a job that is not over.
  absl::Time since = absl::InfiniteFuture();
  std::unordered_set<std::string> names;  // Of files, without folder.
};

struct EvictorOptions {
  int64_t limit_bytes = 0;  // As files occupy the disk.
  // Their files are <folder>/<2 characters>/<name>. Others are left alone.
  std::vector<std::string> folders;
  // Asked before something is removed; an error means that nothing is.
  std::function<absl::StatusOr<StillNeeded>()> needed;
  // Only counts, whatever the limit: at the first Usage(), and again when that
  // is asked for more than an hour later.
  bool on_demand = false;
};

struct Evicted {
  int64_t files = 0;
  int64_t bytes = 0;       // Freed.
  int64_t left_bytes = 0;  // Still there.
};

struct CacheUsage {
  // As files occupy the disk. Absent: they are being counted.
  std::optional<int64_t> bytes;
  int64_t evicted_files = 0;  // Since Start().
  int64_t evicted_bytes = 0;
};

// Thread-safe.
class Evictor {
 public:
  // Never removed that soon after a use: who looked whether something is there
  // has time to say what for.
  static constexpr absl::Duration kGrace = absl::Minutes(10);

  // `files` and `clock` must outlive it.
  Evictor(FileSystem& files, Clock& clock) : files_(files), clock_(clock) {}
  ~Evictor();  // As Stop().
  Evictor(const Evictor&) = delete;
  Evictor& operator=(const Evictor&) = delete;

  // To be called on each use of a file, with what Stat() just said, which it
  // brings up to date. False: it has been removed meanwhile.
  bool Used(const std::string& path, FileInfo& info);
  // To be called for each new file.
  void Added(int64_t size_bytes);

  // Looks at all files and, if they are above the limit, removes some, until
  // they are an eighth below it.
  absl::StatusOr<Evicted> Run(const EvictorOptions& options);
  // Runs on a thread of its own: now, to see how much is there, and each time
  // the limit is passed. `report`, called there, is told of each that removed
  // anything, or could not. To be called once.
  void Start(EvictorOptions options,
             std::function<void(const absl::StatusOr<Evicted>&)> report);
  // Of a started evictor. Does not block.
  CacheUsage Usage();
  // Ends the thread, which calls `needed` and `report` no more, be it in the
  // middle of its work. Idempotent.
  void Stop();

 private:
  struct File;
  absl::Status Visit(const EvictorOptions& options,
                     const std::function<void(File)>& visit);
  bool RemoveUnlessUsed(const File& file);
  void Count(const EvictorOptions& options);
  void CountOnDemand();
  bool Stopping();
  void Loop();

  FileSystem& files_;
  Clock& clock_;
  // Makes a use and a removal of the same file come one after the other.
  Mutex use_mutex_;
  Mutex mutex_;
  CondVar changed_;
  // What Run() saw, and Added().
  int64_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  // The thread looks again once there are more bytes.
  int64_t wake_above_ ABSL_GUARDED_BY(mutex_) =
      std::numeric_limits<int64_t>::max();
  bool counted_ ABSL_GUARDED_BY(mutex_) = false;  // Whether Run() has seen all.
  bool asked_ ABSL_GUARDED_BY(mutex_) = false;    // To count (again).
  absl::Duration counted_at_ ABSL_GUARDED_BY(mutex_);
  int64_t evicted_files_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t evicted_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  bool stop_ ABSL_GUARDED_BY(mutex_) = false;
  EvictorOptions options_;
  std::function<void(const absl::StatusOr<Evicted>&)> report_;
  std::thread thread_;
};

}  // namespace edgekiln::cache

#endif  // EK_CACHE_EVICTOR_H_
