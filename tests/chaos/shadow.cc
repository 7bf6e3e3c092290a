#include "tests/chaos/shadow.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <utility>

namespace edgekiln::chaos {
namespace {

void Must(int result, const char* what, const std::string& path) {
  if (result != 0) Die(std::string(what) + ": " + strerror(errno), path);
}

// What a killed predecessor left; two levels are all there is.
void Remove(const std::string& folder) {
  for (const char* below : {"/files", "/folders", ""}) {
    const std::string path = folder + below;
    DIR* const dir = opendir(path.c_str());
    if (dir == nullptr) continue;
    while (const dirent* entry = readdir(dir)) {
      EK_NEXT(unlinkat)(dirfd(dir), entry->d_name, 0);
    }
    closedir(dir);
    EK_NEXT(rmdir)(path.c_str());
  }
}

}  // namespace

[[noreturn]] void Die(const std::string& what, const std::string& where) {
  const std::string line = "drop_unsynced: " + what + ": " + where + "\n";
  (void)!write(STDERR_FILENO, line.data(), line.size());
  abort();
}

std::string PathOfDescriptor(int fd) {
  char path[PATH_MAX];
  const std::string link = "/proc/self/fd/" + std::to_string(fd);
  const ssize_t size = readlink(link.c_str(), path, sizeof(path));
  return size < 0 ? std::string() : std::string(path, size);
}

Shadow::Shadow(std::string watched, std::string shadow)
    : watched_(std::move(watched)), shadow_(std::move(shadow)) {
  const std::string part = shadow_ + ".part";
  Remove(part);
  Remove(shadow_);
  Must(EK_NEXT(mkdir)(part.c_str(), 0700), "mkdir", part);
  for (const char* below : {"/files", "/folders"}) {
    Must(EK_NEXT(mkdir)((part + below).c_str(), 0700), "mkdir", part + below);
  }
  // The state folder itself is somebody else's to keep.
  if (EK_NEXT(mkdir)(watched_.c_str(), 0700) != 0 && errno != EEXIST) {
    Die("mkdir", watched_);
  }
  struct stat info;
  Must(lstat(watched_.c_str(), &info), "stat", watched_);
  device_ = info.st_dev;
  const std::string final_place = shadow_;
  shadow_ = part;
  AddExisting(watched_, info.st_ino);
  shadow_ = final_place;
  Must(EK_NEXT(rename)(part.c_str(), shadow_.c_str()), "rename", part);
}

bool Shadow::Watches(const std::string& path) const {
  return path == watched_ ||
         path.compare(0, watched_.size() + 1, watched_ + "/") == 0;
}

bool Shadow::Sync(int fd) {
  struct stat info;
  if (fstat(fd, &info) != 0) return false;
  const std::string path = PathOfDescriptor(fd);
  MutexLock lock(mutex_);
  const auto id = info.st_dev == device_ ? ids_.find(info.st_ino) : ids_.end();
  if (id == ids_.end()) {
    if (Watches(path)) Die("synced, but came by an unknown way", path);
    return false;
  }
  const std::string self = "/proc/self/fd/" + std::to_string(fd);
  if (S_ISDIR(info.st_mode)) {
    SyncFolder(self, id->second);
  } else {
    SyncFile(self, id->second);
  }
  return true;
}

std::string Shadow::FilePath(uint64_t id) const {
  return shadow_ + "/files/" + std::to_string(id);
}

void Shadow::AddExisting(const std::string& path, ino_t inode) {
  const uint64_t id = path == watched_ ? 0 : ++last_;
  ids_[inode] = id;
  DIR* const dir = opendir(path.c_str());
  if (dir == nullptr) Die("opendir", path);
  while (const dirent* entry = readdir(dir)) {
    const std::string name = entry->d_name;
    if (name == "." || name == "..") continue;
    const std::string child = path + "/" + name;
    struct stat info;
    Must(lstat(child.c_str(), &info), "stat", child);
    if (S_ISDIR(info.st_mode)) {
      AddExisting(child, info.st_ino);
    } else if (ids_.count(info.st_ino) == 0) {
      ids_[info.st_ino] = ++last_;
      shared_.insert(last_);
      Must(EK_NEXT(link)(child.c_str(), FilePath(last_).c_str()), "link",
           child);
    }
  }
  closedir(dir);
  SyncFolder(path, id);
}

// The shadow of what was there at the start is the file itself until
// somebody is about to write to it.
void Shadow::Detach(ino_t inode, const std::string& path) {
  const auto id = ids_.find(inode);
  if (id == ids_.end()) Die("opened, but came by an unknown way", path);
  if (shared_.erase(id->second) > 0) SyncFile(path, id->second);
}

void Shadow::SyncFile(const std::string& path, uint64_t id) {
  const std::string part = FilePath(id) + ".part";
  const int in = EK_NEXT(open)(path.c_str(), O_RDONLY | O_CLOEXEC);
  const int out = EK_NEXT(open)(part.c_str(),
                                O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (in < 0 || out < 0) Die("open", path);
  static char buffer[256 << 10];  // Guarded by mutex_.
  while (const ssize_t got = read(in, buffer, sizeof(buffer))) {
    if (got < 0 || write(out, buffer, got) != got) Die("copy", path);
  }
  close(in);
  close(out);
  Must(EK_NEXT(rename)(part.c_str(), FilePath(id).c_str()), "rename", part);
}

void Shadow::SyncFolder(const std::string& path, uint64_t id) {
  DIR* const dir = opendir(path.c_str());
  if (dir == nullptr) Die("opendir", path);
  std::string list;
  while (const dirent* entry = readdir(dir)) {
    const std::string name = entry->d_name;
    if (name == "." || name == "..") continue;
    struct stat info;
    Must(fstatat(dirfd(dir), name.c_str(), &info, AT_SYMLINK_NOFOLLOW), "stat",
         name);
    const auto child = ids_.find(info.st_ino);
    if (child == ids_.end()) Die("found, but came by an unknown way", name);
    list += S_ISDIR(info.st_mode) ? "d " : "f ";
    list += std::to_string(child->second) + " " + name + "\n";
  }
  closedir(dir);
  const std::string target = shadow_ + "/folders/" + std::to_string(id);
  const std::string part = target + ".part";
  const int out = EK_NEXT(open)(part.c_str(),
                                O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  const auto size = static_cast<ssize_t>(list.size());
  if (out < 0 || write(out, list.data(), list.size()) != size) {
    Die("write", part);
  }
  close(out);
  Must(EK_NEXT(rename)(part.c_str(), target.c_str()), "rename", part);
}

}  // namespace edgekiln::chaos
