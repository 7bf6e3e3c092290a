#ifndef EK_TESTS_CHAOS_SHADOW_H_
#define EK_TESTS_CHAOS_SHADOW_H_

// The part of drop_unsynced.cc that keeps the shadow of a folder; the format is
// that of synced_folder.h. Whatever goes wrong ends the program: a suite that
// went on would prove nothing.

#include <dlfcn.h>
#include <sys/stat.h>
#include <sys/types.h>

#include <cerrno>
#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "base/mutex.h"

namespace edgekiln::chaos {

[[noreturn]] void Die(const std::string& what, const std::string& where);

// The function `name` that ours stands before.
template <typename Function>
Function* Next(const char* name, Function* /*ours*/) {
  void* const next = dlsym(RTLD_NEXT, name);
  if (next == nullptr) Die("no such function", name);
  return reinterpret_cast<Function*>(next);
}
#define EK_NEXT(name) ::edgekiln::chaos::Next(#name, &::name)

std::string PathOfDescriptor(int fd);

// Thread-safe.
class Shadow {
 public:
  // Creates `watched` if need be. Everything that is there at the start counts
  // as synced. `shadow` appears once it is complete.
  Shadow(std::string watched, std::string shadow);

  // Of full paths.
  bool Watches(const std::string& path) const;

  // Around a call that may create, empty or write to the file.
  template <typename Open>
  auto Opening(const std::string& path, Open do_open) {
    MutexLock lock(mutex_);
    struct stat info;
    const bool existed = lstat(path.c_str(), &info) == 0;
    if (existed && S_ISREG(info.st_mode)) Detach(info.st_ino, path);
    const auto result = do_open();
    const int error = errno;
    if (!existed && lstat(path.c_str(), &info) == 0) {
      ids_[info.st_ino] = ++last_;
    }
    errno = error;
    return result;
  }

  // Around any other change of names.
  template <typename Change>
  int Changing(Change change) {
    MutexLock lock(mutex_);
    return change();
  }

  // Whether it was a file or folder of ours, which is synced then.
  bool Sync(int fd);

 private:
  std::string FilePath(uint64_t id) const;
  void AddExisting(const std::string& path, ino_t inode)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Detach(ino_t inode, const std::string& path)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void SyncFile(const std::string& path, uint64_t id)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void SyncFolder(const std::string& path, uint64_t id)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::string watched_;
  std::string shadow_;
  dev_t device_ = 0;
  Mutex mutex_;
  // Numbers of our own: those of inodes are used again.
  std::map<ino_t, uint64_t> ids_ ABSL_GUARDED_BY(mutex_);
  // Whose shadow is the file itself, as nobody has written to it yet.
  std::set<uint64_t> shared_ ABSL_GUARDED_BY(mutex_);
  uint64_t last_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace edgekiln::chaos

#endif  // EK_TESTS_CHAOS_SHADOW_H_
