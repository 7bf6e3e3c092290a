#include "cache/testing/crashing_file_system.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace edgekiln::cache {
namespace {

absl::Status NoFile(const std::string& path) {
  return absl::NotFoundError(absl::StrCat("no file ", path));
}

}  // namespace

class CrashingFileSystem::File : public WritableFile {
 public:
  File(CrashingFileSystem& owner, std::shared_ptr<Contents> contents)
      : owner_(owner), contents_(std::move(contents)) {
    ++owner_.open_files_;
  }
  ~File() override { --owner_.open_files_; }

  absl::Status Append(absl::string_view bytes) override {
    MutexLock lock(owner_.mutex_);
    const absl::Status failed = owner_.Change();
    // A write that fails has written something all the same.
    if (!failed.ok()) bytes = bytes.substr(0, bytes.size() / 2);
    absl::StrAppend(&contents_->now, bytes);
    return failed;
  }

  absl::Status Sync() override {
    if (owner_.on_sync_) owner_.on_sync_();
    MutexLock lock(owner_.mutex_);
    const absl::Status failed = owner_.Change();
    if (failed.ok()) contents_->synced = contents_->now;
    return failed;
  }

  absl::Status Close() override { return absl::OkStatus(); }

 private:
  CrashingFileSystem& owner_;
  const std::shared_ptr<Contents> contents_;
};

void CrashingFileSystem::FailAfter(int64_t count) {
  MutexLock lock(mutex_);
  fail_from_ = changes_ + count;
}

void CrashingFileSystem::Crash() {
  MutexLock lock(mutex_);
  names_ = synced_names_;
  for (auto& [path, contents] : names_) contents->now = contents->synced;
  fail_from_ = INT64_MAX;
}

int64_t CrashingFileSystem::changes() {
  MutexLock lock(mutex_);
  return changes_;
}

bool CrashingFileSystem::Exists(const std::string& path) {
  MutexLock lock(mutex_);
  return names_.count(path) > 0;
}

void CrashingFileSystem::Overwrite(const std::string& path,
                                   const std::string& contents) {
  MutexLock lock(mutex_);
  names_.at(path)->now = contents;
}

absl::Status CrashingFileSystem::Change() {
  if (changes_++ < fail_from_) return absl::OkStatus();
  return absl::UnavailableError("the disk fails");
}

void CrashingFileSystem::SetTime(absl::Time now) {
  MutexLock lock(mutex_);
  time_ = now;
}

absl::StatusOr<std::unique_ptr<WritableFile>> CrashingFileSystem::Open(
    const std::string& path, OpenMode mode) {
  MutexLock lock(mutex_);
  const absl::Status failed = Change();
  if (!failed.ok()) return failed;
  if (folders_.count(ParentPath(path)) == 0) return NoFile(ParentPath(path));
  std::shared_ptr<Contents>& contents = names_[path];
  if (contents != nullptr && mode == OpenMode::kCreateNew) {
    return absl::AlreadyExistsError(path);
  }
  if (contents == nullptr) contents = std::make_shared<Contents>();
  if (mode == OpenMode::kTruncate) contents->now.clear();
  contents->modified = time_;
  return std::make_unique<File>(*this, contents);
}

absl::StatusOr<std::string> CrashingFileSystem::Read(const std::string& path,
                                                     int64_t max_bytes) {
  MutexLock lock(mutex_);
  const auto it = names_.find(path);
  if (it == names_.end()) return NoFile(path);
  if (static_cast<int64_t>(it->second->now.size()) > max_bytes) {
    return absl::InvalidArgumentError("too large");
  }
  return it->second->now;
}

absl::StatusOr<std::string> CrashingFileSystem::ReadRange(
    const std::string& path, int64_t offset, int64_t max_bytes) {
  MutexLock lock(mutex_);
  const auto it = names_.find(path);
  if (it == names_.end()) return NoFile(path);
  const std::string& now = it->second->now;
  if (offset >= static_cast<int64_t>(now.size())) return std::string();
  return now.substr(offset, max_bytes);
}

absl::StatusOr<FileInfo> CrashingFileSystem::Stat(const std::string& path) {
  MutexLock lock(mutex_);
  FileInfo info;
  info.modified = absl::UnixEpoch();
  if (folders_.count(path) > 0) {
    info.is_directory = true;
    return info;
  }
  const auto it = names_.find(path);
  if (it == names_.end()) return NoFile(path);
  info.size_bytes = static_cast<int64_t>(it->second->now.size());
  info.modified = it->second->modified;
  return info;
}

absl::Status CrashingFileSystem::SetModified(const std::string& path,
                                             absl::Time modified) {
  MutexLock lock(mutex_);
  const auto it = names_.find(path);
  if (it == names_.end()) return NoFile(path);
  it->second->modified = modified;
  return absl::OkStatus();
}

absl::Status CrashingFileSystem::Rename(const std::string& from,
                                        const std::string& to) {
  MutexLock lock(mutex_);
  const absl::Status failed = Change();
  if (!failed.ok()) return failed;
  const auto it = names_.find(from);
  if (it == names_.end()) return NoFile(from);
  if (folders_.count(ParentPath(to)) == 0) return NoFile(ParentPath(to));
  names_[to] = it->second;
  names_.erase(from);
  return absl::OkStatus();
}

absl::Status CrashingFileSystem::Remove(const std::string& path) {
  MutexLock lock(mutex_);
  const absl::Status failed = Change();
  if (!failed.ok()) return failed;
  return names_.erase(path) > 0 ? absl::OkStatus() : NoFile(path);
}

absl::Status CrashingFileSystem::CreateDirectories(const std::string& path) {
  MutexLock lock(mutex_);
  for (std::string folder = path; folder != "/" && folder != ".";
       folder = ParentPath(folder)) {
    folders_.insert(folder);
  }
  return absl::OkStatus();
}

absl::Status CrashingFileSystem::SyncFile(const std::string& path) {
  MutexLock lock(mutex_);
  const absl::Status failed = Change();
  if (!failed.ok()) return failed;
  const auto it = names_.find(path);
  if (it == names_.end()) return NoFile(path);
  it->second->synced = it->second->now;
  return absl::OkStatus();
}

absl::Status CrashingFileSystem::SyncDirectory(const std::string& path) {
  MutexLock lock(mutex_);
  const absl::Status failed = Change();
  if (!failed.ok()) return failed;
  for (auto it = synced_names_.begin(); it != synced_names_.end();) {
    it =
        ParentPath(it->first) == path ? synced_names_.erase(it) : std::next(it);
  }
  for (const auto& [name, contents] : names_) {
    if (ParentPath(name) == path) synced_names_[name] = contents;
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> CrashingFileSystem::List(
    const std::string& path) {
  MutexLock lock(mutex_);
  std::set<std::string> found;
  const auto add = [&](const std::string& name) {
    if (ParentPath(name) == path) found.insert(name.substr(path.size() + 1));
  };
  for (const auto& [name, contents] : names_) add(name);
  for (const std::string& folder : folders_) add(folder);
  return std::vector<std::string>(found.begin(), found.end());
}

}  // namespace edgekiln::cache
