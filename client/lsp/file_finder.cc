#include "client/lsp/file_finder.h"

#include <filesystem>
#include <thread>
#include <utility>

#include "absl/strings/match.h"
#include "base/mutex.h"
#include "client/option_values.h"

namespace edgekiln::client::lsp {
namespace {

// In a larger folder nothing is suggested: each name would be compared.
constexpr size_t kMaxNames = 4096;

std::string Whole(const std::string& folder, const std::string& path) {
  return absl::StartsWith(path, "/") ? path : JoinPath(folder, path);
}

// `path` with its first part that does not exist replaced by the nearest name
// beside it; empty if that does not exist either.
std::string Suggestion(const std::string& folder, const std::string& path,
                       FileSystem& files) {
  std::filesystem::path so_far;
  const std::filesystem::path parts(path);
  for (auto part = parts.begin(); part != parts.end(); ++part) {
    const std::filesystem::path parent = so_far;
    so_far /= *part;
    if (!absl::IsNotFound(
            files.Stat(Whole(folder, so_far.string())).status())) {
      continue;
    }
    const absl::StatusOr<std::vector<std::string>> names =
        files.List(parent.empty() ? folder : Whole(folder, parent.string()));
    if (!names.ok() || names->size() > kMaxNames) return "";
    const std::string nearest = NearestOf(part->string(), *names);
    if (nearest.empty()) return "";
    std::filesystem::path other = parent / nearest;
    for (auto rest = std::next(part); rest != parts.end(); ++rest) {
      other /= *rest;
    }
    const absl::StatusOr<FileInfo> info =
        files.Stat(Whole(folder, other.string()));
    return info.ok() && !info->is_directory ? other.string() : "";
  }
  return "";
}

class ThreadedFinder final : public FileFinder {
 public:
  ThreadedFinder(FileSystem& files, std::function<void(FilesAnswer)> tell)
      : files_(files), tell_(std::move(tell)), thread_([this] { Loop(); }) {}

  ~ThreadedFinder() override {
    {
      MutexLock lock(mutex_);
      stop_ = true;
      changed_.NotifyAll();
    }
    thread_.join();
  }

  void Find(FilesRequest request) override {
    MutexLock lock(mutex_);
    requests_[request.uri] = std::move(request);
    changed_.NotifyAll();
  }

 private:
  void Loop() {
    while (true) {
      FilesRequest request;
      {
        MutexLock lock(mutex_);
        while (requests_.empty() && !stop_) changed_.Wait(lock);
        if (stop_) return;
        request = std::move(requests_.begin()->second);
        requests_.erase(requests_.begin());
      }
      MissingFiles missing = FindMissing(request, files_);
      tell_({.uri = std::move(request.uri),
             .paths = std::move(request.paths),
             .missing = std::move(missing)});
    }
  }

  FileSystem& files_;
  const std::function<void(FilesAnswer)> tell_;
  Mutex mutex_;
  CondVar changed_;
  std::map<std::string, FilesRequest> requests_ ABSL_GUARDED_BY(mutex_);
  bool stop_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace

MissingFiles FindMissing(const FilesRequest& request, FileSystem& files) {
  MissingFiles missing;
  for (const std::string& path : request.paths) {
    const absl::StatusOr<FileInfo> info =
        files.Stat(Whole(request.folder, path));
    if (info.ok() && info->is_directory) {
      missing[path] = {.is_folder = true};
    } else if (absl::IsNotFound(info.status())) {
      missing[path] = {.suggestion = Suggestion(request.folder, path, files)};
    }
  }
  return missing;
}

std::unique_ptr<FileFinder> NewFileFinder(
    FileSystem& files, std::function<void(FilesAnswer)> tell) {
  return std::make_unique<ThreadedFinder>(files, std::move(tell));
}

}  // namespace edgekiln::client::lsp
