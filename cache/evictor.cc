#include "cache/evictor.h"

#include <algorithm>
#include <chrono>
#include <tuple>
#include <utility>

#include "base/rounding.h"
#include "base/status_macros.h"

namespace edgekiln::cache {
namespace {

// A use within that of the last one is not written down again: as often as a
// blob is asked for, its file's time changes once a minute at most.
constexpr absl::Duration kResolution = absl::Minutes(1);
constexpr std::chrono::seconds kTryAgain{60};
constexpr int64_t kBlockBytes = 4096;
constexpr absl::Duration kCountAgain = absl::Hours(1);

int64_t OnDisk(int64_t size_bytes) { return RoundUp(size_bytes, kBlockBytes); }

}  // namespace

struct Evictor::File {
  std::string path;
  std::string name;
  int64_t bytes = 0;
  absl::Time used;
};

Evictor::~Evictor() { Stop(); }

void Evictor::Stop() {
  {
    MutexLock lock(mutex_);
    stop_ = true;
  }
  changed_.NotifyAll();
  if (thread_.joinable()) thread_.join();
}

bool Evictor::Used(const std::string& path, FileInfo& info) {
  const absl::Time now = clock_.Now();
  // Also after the clock was set back: a time to come would never be evicted.
  if (now - info.modified < kResolution && info.modified <= now) return true;
  MutexLock lock(use_mutex_);
  // Another error than that it is gone is no reason not to use it.
  if (absl::IsNotFound(files_.SetModified(path, now))) return false;
  // The file system may know the time less precisely.
  const absl::StatusOr<FileInfo> after = files_.Stat(path);
  if (after.ok()) info = *after;
  return true;
}

void Evictor::Added(int64_t size_bytes) {
  bool passes_limit = false;
  {
    MutexLock lock(mutex_);
    const int64_t before = bytes_;
    bytes_ += OnDisk(size_bytes);
    passes_limit = before <= wake_above_ && bytes_ > wake_above_;
  }
  if (passes_limit) changed_.NotifyAll();
}

absl::Status Evictor::Visit(const EvictorOptions& options,
                            const std::function<void(File)>& visit) {
  for (const std::string& folder : options.folders) {
    EK_ASSIGN_OR_RETURN(const std::vector<std::string> shards,
                        files_.List(folder));
    for (const std::string& shard : shards) {
      if (shard.size() != 2 || Stopping()) continue;
      const std::string below = JoinPath(folder, shard);
      const absl::StatusOr<std::vector<std::string>> names = files_.List(below);
      if (!names.ok()) continue;  // A file, or just gone.
      for (const std::string& name : *names) {
        std::string path = JoinPath(below, name);
        const absl::StatusOr<FileInfo> info = files_.Stat(path);
        if (!info.ok() || info->is_directory) continue;
        visit({.path = std::move(path),
               .name = name,
               .bytes = OnDisk(info->size_bytes),
               .used = info->modified});
      }
    }
  }
  return absl::OkStatus();
}

bool Evictor::Stopping() {
  MutexLock lock(mutex_);
  return stop_;
}

bool Evictor::RemoveUnlessUsed(const File& file) {
  MutexLock lock(use_mutex_);
  const absl::StatusOr<FileInfo> info = files_.Stat(file.path);
  if (!info.ok() || info->modified != file.used) return false;
  // Not synced: what comes back after a power failure is as good as before.
  return files_.Remove(file.path).ok();
}

absl::StatusOr<Evicted> Evictor::Run(const EvictorOptions& options) {
  int64_t bytes_before = 0;
  {
    MutexLock lock(mutex_);
    bytes_before = bytes_;
  }
  std::vector<File> found;
  EK_RETURN_IF_ERROR(
      Visit(options, [&](File file) { found.push_back(std::move(file)); }),
      "looking at the cache");
  Evicted out;
  for (const File& file : found) out.left_bytes += file.bytes;
  absl::Status status;
  if (out.left_bytes > options.limit_bytes) {
    absl::StatusOr<StillNeeded> needed = options.needed();
    status = needed.status();
    if (!needed.ok()) {
      needed = StillNeeded();
      needed->since = absl::InfinitePast();
    }
    const absl::Time before =
        std::min(needed->since, clock_.Now() - kGrace) - 2 * kResolution;
    std::sort(found.begin(), found.end(), [](const File& a, const File& b) {
      return std::tie(a.used, a.path) < std::tie(b.used, b.path);
    });
    // Some room, or the next blob would have everything listed again.
    const int64_t target = options.limit_bytes - options.limit_bytes / 8;
    for (const File& file : found) {
      if (out.left_bytes <= target || file.used >= before || Stopping()) break;
      if (needed->names.count(file.name) > 0) continue;
      if (!RemoveUnlessUsed(file)) continue;
      ++out.files;
      out.bytes += file.bytes;
      out.left_bytes -= file.bytes;
    }
  }
  {
    MutexLock lock(mutex_);
    // What was added meanwhile may be counted twice; never missed.
    bytes_ += out.left_bytes - bytes_before;
    counted_ = true;
    counted_at_ = clock_.Monotonic();
    evicted_files_ += out.files;
    evicted_bytes_ += out.bytes;
  }
  EK_RETURN_IF_ERROR(status, "asking what is still needed");
  return out;
}

void Evictor::Start(
    EvictorOptions options,
    std::function<void(const absl::StatusOr<Evicted>&)> report) {
  options_ = std::move(options);
  report_ = std::move(report);
  if (!options_.on_demand) {
    MutexLock lock(mutex_);
    wake_above_ = options_.limit_bytes;
  }
  thread_ = std::thread([this] { Loop(); });
}

CacheUsage Evictor::Usage() {
  CacheUsage usage;
  bool count = false;
  {
    MutexLock lock(mutex_);
    if (counted_) usage.bytes = bytes_;
    usage.evicted_files = evicted_files_;
    usage.evicted_bytes = evicted_bytes_;
    count = !counted_ || clock_.Monotonic() - counted_at_ > kCountAgain;
    asked_ = asked_ || count;
  }
  if (count) changed_.NotifyAll();
  return usage;
}

void Evictor::Count(const EvictorOptions& options) {
  int64_t before = 0;
  {
    MutexLock lock(mutex_);
    before = bytes_;
  }
  int64_t bytes = 0;
  const absl::Status status =
      Visit(options, [&](const File& file) { bytes += file.bytes; });
  if (!status.ok()) report_(status);
  MutexLock lock(mutex_);
  asked_ = false;
  counted_at_ = clock_.Monotonic();
  if (!status.ok()) return;
  // What was added meanwhile may be counted twice, until the next time.
  bytes_ += bytes - before;
  counted_ = true;
}

void Evictor::CountOnDemand() {
  while (true) {
    {
      MutexLock lock(mutex_);
      while (!asked_ && !stop_) changed_.Wait(lock);
      if (stop_) return;
    }
    Count(options_);
  }
}

void Evictor::Loop() {
  if (options_.on_demand) return CountOnDemand();
  while (true) {
    const absl::StatusOr<Evicted> evicted = Run(options_);
    const bool above =
        evicted.ok() && evicted->left_bytes > options_.limit_bytes;
    if (!evicted.ok() || evicted->files > 0 || above) report_(evicted);
    MutexLock lock(mutex_);
    if (!evicted.ok() || above) {
      // Needed things, or a disk that fails: later it may be otherwise.
      const auto end = std::chrono::steady_clock::now() + kTryAgain;
      while (!stop_ && changed_.WaitUntil(lock, end)) {
      }
    } else {
      while (!stop_ && bytes_ <= options_.limit_bytes) changed_.Wait(lock);
    }
    if (stop_) return;
  }
}

}  // namespace edgekiln::cache
