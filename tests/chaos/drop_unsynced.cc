// A library for LD_PRELOAD that knows what of a folder a power failure would
// leave: see synced_folder.h, which has the format of what it writes. It
// watches the folder `state` beside itself.
//
// The strictest reading of POSIX: contents are durable after fsync() or
// fdatasync() of the file, names after fsync() of their folder, and neither
// implies the other. Writing needs no watching, however it is done: contents
// are read when they are synced. What is watched is where names come from and
// go to, and what syncs. A call that does either in a way that is not modelled
// here ends the program, and so does a file that came by an unknown way.
//
// The real sync is not done: only the program is killed, not the machine.

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <string>

#include "tests/chaos/shadow.h"
#include "tests/chaos/synced_folder.h"

namespace edgekiln::chaos {
namespace {

bool EndsWith(const std::string& text, const std::string& end) {
  return text.size() >= end.size() &&
         text.compare(text.size() - end.size(), end.size(), end) == 0;
}

// With the folder made canonical; the name itself may not exist yet.
std::string FullPath(int at, const char* path) {
  std::string full = path;
  if (full.empty()) return full;
  if (full[0] != '/' && at != AT_FDCWD) {
    full = PathOfDescriptor(at) + "/" + full;
  }
  while (full.size() > 1 && full.back() == '/') full.pop_back();
  const size_t slash = full.rfind('/');
  const bool bare = slash == std::string::npos;
  char parent[PATH_MAX];
  if (realpath(bare ? "." : full.substr(0, slash + 1).c_str(), parent) ==
      nullptr) {
    return full;
  }
  return (strcmp(parent, "/") == 0 ? "" : std::string(parent)) + "/" +
         full.substr(bare ? 0 : slash + 1);
}

// Null in programs that are none of our business, and before all else is ready.
Shadow* shadow = nullptr;

// Beside this library, under the name it was loaded by.
std::string OwnFolder() {
  Dl_info info;
  if (dladdr(reinterpret_cast<void*>(&OwnFolder), &info) == 0) {
    Die("dladdr", "");
  }
  const std::string path = info.dli_fname;
  char folder[PATH_MAX];
  if (realpath(path.substr(0, path.rfind('/') + 1).c_str(), folder) ==
      nullptr) {
    Die("realpath", path);
  }
  return folder;
}

__attribute__((constructor)) void StartWatching() {
  // What the program starts is not watched.
  unsetenv("LD_PRELOAD");
  const std::string folder = OwnFolder();
  shadow =
      new Shadow(folder + "/" + kWatchedFolder, folder + "/" + kShadowFolder);
}

bool Watched(int at, const char* path) {
  return shadow != nullptr && shadow->Watches(FullPath(at, path));
}

// For calls that are not modelled.
void Refuse(const char* call, int at, const char* path) {
  if (Watched(at, path)) Die(std::string("not modelled: ") + call, path);
}

template <typename Open>
auto Opened(int at, const char* path, int flags, Open do_open) {
  const bool writes =
      (flags & O_ACCMODE) != O_RDONLY || (flags & (O_CREAT | O_TRUNC)) != 0;
  if (!writes || !Watched(at, path)) return do_open();
  if ((flags & O_TMPFILE) == O_TMPFILE || (flags & (O_SYNC | O_DSYNC)) != 0) {
    Die("not modelled: open with O_TMPFILE or O_SYNC", path);
  }
  return shadow->Opening(FullPath(at, path), do_open);
}

int Renamed(int from_at, const char* from, int to_at, const char* to,
            int (*do_rename)(int, const char*, int, const char*)) {
  struct stat info;
  const bool watched = Watched(from_at, from);
  if (watched != Watched(to_at, to)) Die("renamed across the border", from);
  if (!watched) return do_rename(from_at, from, to_at, to);
  if (fstatat(from_at, from, &info, AT_SYMLINK_NOFOLLOW) == 0 &&
      S_ISDIR(info.st_mode)) {
    Die("not modelled: rename of a folder", from);
  }
  return shadow->Changing([&] { return do_rename(from_at, from, to_at, to); });
}

int PlainRename(int from_at, const char* from, int to_at, const char* to) {
  return EK_NEXT(renameat)(from_at, from, to_at, to);
}

mode_t ModeOf(int flags, va_list& arguments) {
  const bool has = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
  return has ? va_arg(arguments, mode_t) : 0;
}

int FlagsOf(const char* mode) {
  int flags = strchr(mode, '+') != nullptr ? O_RDWR : O_WRONLY;
  if (mode[0] == 'r') return flags == O_RDWR ? O_RDWR : O_RDONLY;
  return flags | O_CREAT | (mode[0] == 'w' ? O_TRUNC : 0);
}

void CheckMapping(int protection, int flags, int fd) {
  if (shadow == nullptr || fd < 0) return;
  const bool writes =
      (protection & PROT_WRITE) != 0 && (flags & MAP_TYPE) != MAP_PRIVATE;
  // SQLite makes that one anew from its log.
  const std::string path = writes ? PathOfDescriptor(fd) : std::string();
  if (shadow->Watches(path) && !EndsWith(path, "-shm")) {
    Die("not modelled: writing through mmap", path);
  }
}

}  // namespace
}  // namespace edgekiln::chaos

using namespace edgekiln::chaos;  // NOLINT: what follows is no C++ interface.

extern "C" {

// Opening. The 64-bit names are the same functions here; libraries call both.

#define EK_OPEN(name)                                                \
  int name(const char* path, int flags, ...) {                       \
    va_list arguments;                                               \
    va_start(arguments, flags);                                      \
    const mode_t mode = ModeOf(flags, arguments);                    \
    va_end(arguments);                                               \
    return Opened(AT_FDCWD, path, flags,                             \
                  [&] { return EK_NEXT(name)(path, flags, mode); }); \
  }
EK_OPEN(open)
EK_OPEN(open64)

#define EK_OPENAT(name)                                                  \
  int name(int at, const char* path, int flags, ...) {                   \
    va_list arguments;                                                   \
    va_start(arguments, flags);                                          \
    const mode_t mode = ModeOf(flags, arguments);                        \
    va_end(arguments);                                                   \
    return Opened(at, path, flags,                                       \
                  [&] { return EK_NEXT(name)(at, path, flags, mode); }); \
  }
EK_OPENAT(openat)
EK_OPENAT(openat64)

#define EK_OPEN_2(name)                                        \
  int name(const char* path, int flags);                       \
  int name(const char* path, int flags) {                      \
    return Opened(AT_FDCWD, path, flags,                       \
                  [&] { return EK_NEXT(name)(path, flags); }); \
  }
EK_OPEN_2(__open_2)
EK_OPEN_2(__open64_2)

#define EK_OPENAT_2(name)                                          \
  int name(int at, const char* path, int flags);                   \
  int name(int at, const char* path, int flags) {                  \
    return Opened(at, path, flags,                                 \
                  [&] { return EK_NEXT(name)(at, path, flags); }); \
  }
EK_OPENAT_2(__openat_2)
EK_OPENAT_2(__openat64_2)

#define EK_CREAT(name)                                          \
  int name(const char* path, mode_t mode) {                     \
    return Opened(AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, \
                  [&] { return EK_NEXT(name)(path, mode); });   \
  }
EK_CREAT(creat)
EK_CREAT(creat64)

#define EK_FOPEN(name)                                        \
  FILE* name(const char* path, const char* mode) {            \
    return Opened(AT_FDCWD, path, FlagsOf(mode),              \
                  [&] { return EK_NEXT(name)(path, mode); }); \
  }
EK_FOPEN(fopen)
EK_FOPEN(fopen64)

#define EK_TRUNCATE(name, offset)                             \
  int name(const char* path, offset size) {                   \
    return Opened(AT_FDCWD, path, O_WRONLY,                   \
                  [&] { return EK_NEXT(name)(path, size); }); \
  }
EK_TRUNCATE(truncate, off_t)
EK_TRUNCATE(truncate64, off64_t)

// Names.

int mkdir(const char* path, mode_t mode) {
  return Opened(AT_FDCWD, path, O_CREAT,
                [&] { return EK_NEXT(mkdir)(path, mode); });
}
int mkdirat(int at, const char* path, mode_t mode) {
  return Opened(at, path, O_CREAT,
                [&] { return EK_NEXT(mkdirat)(at, path, mode); });
}
int rename(const char* from, const char* to) {
  return Renamed(AT_FDCWD, from, AT_FDCWD, to, PlainRename);
}
int renameat(int from_at, const char* from, int to_at, const char* to) {
  return Renamed(from_at, from, to_at, to, PlainRename);
}
int renameat2(int from_at, const char* from, int to_at, const char* to,
              unsigned flags) {
  if (flags != 0) Refuse("renameat2 with flags", to_at, to);
  return Renamed(from_at, from, to_at, to, PlainRename);
}
int unlink(const char* path) {
  if (!Watched(AT_FDCWD, path)) return EK_NEXT(unlink)(path);
  return shadow->Changing([&] { return EK_NEXT(unlink)(path); });
}
int unlinkat(int at, const char* path, int flags) {
  if (!Watched(at, path)) return EK_NEXT(unlinkat)(at, path, flags);
  return shadow->Changing([&] { return EK_NEXT(unlinkat)(at, path, flags); });
}
int remove(const char* path) {
  if (!Watched(AT_FDCWD, path)) return EK_NEXT(remove)(path);
  return shadow->Changing([&] { return EK_NEXT(remove)(path); });
}
int rmdir(const char* path) {
  if (!Watched(AT_FDCWD, path)) return EK_NEXT(rmdir)(path);
  return shadow->Changing([&] { return EK_NEXT(rmdir)(path); });
}

// Syncing. sync_file_range() is left alone: it makes nothing durable.

int fsync(int fd) {
  return shadow != nullptr && shadow->Sync(fd) ? 0 : EK_NEXT(fsync)(fd);
}
int fdatasync(int fd) {
  return shadow != nullptr && shadow->Sync(fd) ? 0 : EK_NEXT(fdatasync)(fd);
}

// Not modelled.

void sync() { Die("not modelled", "sync"); }
int syncfs(int) { Die("not modelled", "syncfs"); }
int msync(void*, size_t, int) { Die("not modelled", "msync"); }
int link(const char* from, const char* to) {
  Refuse("link", AT_FDCWD, to);
  return EK_NEXT(link)(from, to);
}
int linkat(int from_at, const char* from, int to_at, const char* to,
           int flags) {
  Refuse("linkat", to_at, to);
  return EK_NEXT(linkat)(from_at, from, to_at, to, flags);
}
int symlink(const char* from, const char* to) {
  Refuse("symlink", AT_FDCWD, to);
  return EK_NEXT(symlink)(from, to);
}
int symlinkat(const char* from, int at, const char* to) {
  Refuse("symlinkat", at, to);
  return EK_NEXT(symlinkat)(from, at, to);
}
int mkfifo(const char* path, mode_t mode) {
  Refuse("mkfifo", AT_FDCWD, path);
  return EK_NEXT(mkfifo)(path, mode);
}
int mkstemp(char* path) {
  Refuse("mkstemp", AT_FDCWD, path);
  return EK_NEXT(mkstemp)(path);
}
int mkstemp64(char* path) {
  Refuse("mkstemp64", AT_FDCWD, path);
  return EK_NEXT(mkstemp64)(path);
}
int mkostemp(char* path, int flags) {
  Refuse("mkostemp", AT_FDCWD, path);
  return EK_NEXT(mkostemp)(path, flags);
}
char* mkdtemp(char* path) {
  Refuse("mkdtemp", AT_FDCWD, path);
  return EK_NEXT(mkdtemp)(path);
}
FILE* freopen(const char* path, const char* mode, FILE* stream) {
  if (path != nullptr) Refuse("freopen", AT_FDCWD, path);
  return EK_NEXT(freopen)(path, mode, stream);
}
void* mmap(void* at, size_t size, int protection, int flags, int fd,
           off_t offset) {
  CheckMapping(protection, flags, fd);
  return EK_NEXT(mmap)(at, size, protection, flags, fd, offset);
}
void* mmap64(void* at, size_t size, int protection, int flags, int fd,
             off64_t offset) {
  CheckMapping(protection, flags, fd);
  return EK_NEXT(mmap64)(at, size, protection, flags, fd, offset);
}

// Past libc's own names. All arguments are passed on, as the kernel takes six.
long syscall(long number, ...) {
  switch (number) {
    case SYS_open:
    case SYS_openat:
    case SYS_openat2:
    case SYS_creat:
    case SYS_rename:
    case SYS_renameat:
    case SYS_renameat2:
    case SYS_unlink:
    case SYS_unlinkat:
    case SYS_link:
    case SYS_linkat:
    case SYS_mkdir:
    case SYS_mkdirat:
    case SYS_fsync:
    case SYS_fdatasync:
    case SYS_sync:
    case SYS_syncfs:
    case SYS_io_uring_setup:
      Die("not modelled", "syscall " + std::to_string(number));
    default:
      break;
  }
  va_list arguments;
  va_start(arguments, number);
  long a[6];
  for (long& argument : a) argument = va_arg(arguments, long);
  va_end(arguments);
  return EK_NEXT(syscall)(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

}  // extern "C"
