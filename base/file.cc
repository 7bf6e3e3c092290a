#include "base/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/scoped_fd.h"
#include "base/status_macros.h"

namespace edgekiln {
namespace {

constexpr absl::string_view kTemporaryMark = ".tmp.";
// Large enough that small files, synced at once anyway, never get there.
constexpr int64_t kWriteBehindBytes = int64_t{16} << 20;

absl::Status SystemError(int error, absl::string_view doing,
                         const std::string& path) {
  ErrorDetail detail;
  detail.what = absl::StrCat("cannot ", doing, ": ",
                             std::generic_category().message(error));
  detail.where = path;
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      detail.reason = "FILE_NOT_FOUND";
      detail.fix = "check the path";
      return MakeError(absl::StatusCode::kNotFound, detail);
    case EEXIST:
      detail.reason = "FILE_EXISTS";
      return MakeError(absl::StatusCode::kAlreadyExists, detail);
    case EACCES:
    case EPERM:
    case EROFS:
      detail.reason = "FILE_PERMISSION";
      detail.fix = "check owner and mode of the file and its folders";
      return MakeError(absl::StatusCode::kPermissionDenied, detail);
    case ENOSPC:
    case EDQUOT:
      detail.fault = Fault::kInfra;
      detail.reason = "DISK_FULL";
      detail.fix = "free disk space";
      return MakeError(absl::StatusCode::kResourceExhausted, detail);
    case EMFILE:
    case ENFILE:
    case ENOMEM:
      // Says nothing about this file.
      detail.fault = Fault::kInfra;
      detail.reason = "FILE_RESOURCES";
      detail.fix = "raise the limit of open files";
      return MakeError(absl::StatusCode::kUnavailable, detail);
    default:
      detail.fault = Fault::kInfra;
      detail.reason = "FILE_IO";
      return MakeError(absl::StatusCode::kUnavailable, detail);
  }
}

absl::Status FileError(absl::string_view reason, absl::string_view what,
                       const std::string& path, int64_t limit_bytes,
                       int64_t need_bytes) {
  ErrorDetail detail{.fault = Fault::kUser,
                     .reason = std::string(reason),
                     .what = std::string(what),
                     .where = path};
  if (need_bytes > 0) {
    detail.limit = absl::StrCat(limit_bytes, " bytes");
    detail.need = absl::StrCat(need_bytes, " bytes");
    detail.fix = "use a smaller file";
  }
  return MakeError(absl::StatusCode::kInvalidArgument, detail);
}

absl::StatusOr<ScopedFd> OpenDescriptor(const std::string& path, int flags) {
  const int fd = open(path.c_str(), flags | O_CLOEXEC, 0600);
  if (fd < 0) return SystemError(errno, "open", path);
  return ScopedFd(fd);
}

class PosixWritableFile : public WritableFile {
 public:
  PosixWritableFile(ScopedFd fd, std::string path)
      : fd_(std::move(fd)), path_(std::move(path)) {}

  absl::Status Append(absl::string_view bytes) override {
    while (!bytes.empty()) {
      const ssize_t n = write(fd_.get(), bytes.data(), bytes.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return SystemError(errno, "write", path_);
      bytes.remove_prefix(static_cast<size_t>(n));
      unsynced_bytes_ += n;
    }
    // What a later Sync() would wait for may as well begin now. A hint: whether
    // it is heeded makes no difference but in time.
    if (unsynced_bytes_ >= kWriteBehindBytes) {
      sync_file_range(fd_.get(), 0, 0, SYNC_FILE_RANGE_WRITE);
      unsynced_bytes_ = 0;
    }
    return absl::OkStatus();
  }
  absl::Status Sync() override {
    if (fsync(fd_.get()) != 0) return SystemError(errno, "sync", path_);
    return absl::OkStatus();
  }
  absl::Status Close() override {
    if (close(fd_.release()) != 0) return SystemError(errno, "close", path_);
    return absl::OkStatus();
  }

 protected:
  int fd() const { return fd_.get(); }
  const std::string& path() const { return path_; }

 private:
  ScopedFd fd_;
  const std::string path_;
  int64_t unsynced_bytes_ = 0;
};

// Appends whole blocks with O_DIRECT and the rest through the page cache; no
// page sees both before the kernel has written it back.
class UncachedFile : public PosixWritableFile {
 public:
  UncachedFile(ScopedFd fd, std::string path, int64_t size_bytes)
      : PosixWritableFile(std::move(fd), std::move(path)),
        size_bytes_(size_bytes) {}

  absl::Status Append(absl::string_view bytes) override {
    while (!bytes.empty()) {
      const size_t into_block = static_cast<size_t>(size_bytes_) % kBlockBytes;
      const size_t blocks = bytes.size() / kBlockBytes * kBlockBytes;
      size_t done = 0;
      if (into_block == 0 && blocks > 0 && SetDirect(true)) {
        EK_ASSIGN_OR_RETURN(done, WriteBlocks(bytes.substr(0, blocks)));
      }
      if (done == 0) {
        SetDirect(false);
        done = usable_ ? std::min(bytes.size(), kBlockBytes - into_block)
                       : bytes.size();
        EK_RETURN_IF_ERROR(PosixWritableFile::Append(bytes.substr(0, done)));
      }
      bytes.remove_prefix(done);
      size_bytes_ += static_cast<int64_t>(done);
    }
    return absl::OkStatus();
  }

 private:
  static constexpr size_t kBlockBytes = 4096;
  static constexpr size_t kBufferBytes = size_t{1} << 20;

  struct Free {
    void operator()(char* memory) const { std::free(memory); }
  };

  // Whether writes go past the cache from here on.
  bool SetDirect(bool direct) {
    if (direct == direct_ || (direct && !usable_)) return direct_;
    const int flags = fcntl(fd(), F_GETFL);
    const int changed = direct ? flags | O_DIRECT : flags & ~O_DIRECT;
    if (flags < 0 || fcntl(fd(), F_SETFL, changed) != 0) {
      usable_ = false;
      return direct_;
    }
    return direct_ = direct;
  }

  // Writes what fits the buffer, or nothing if the file system cannot.
  absl::StatusOr<size_t> WriteBlocks(absl::string_view bytes) {
    if (buffer_ == nullptr) {
      buffer_.reset(
          static_cast<char*>(std::aligned_alloc(kBlockBytes, kBufferBytes)));
    }
    if (buffer_ == nullptr) return size_t{0};
    bytes = bytes.substr(0, kBufferBytes);
    std::memcpy(buffer_.get(), bytes.data(), bytes.size());
    while (true) {
      const ssize_t n = write(fd(), buffer_.get(), bytes.size());
      if (n >= 0) return static_cast<size_t>(n);
      if (errno == EINTR) continue;
      if (errno != EINVAL) return SystemError(errno, "write", path());
      usable_ = false;
      return size_t{0};
    }
  }

  int64_t size_bytes_;
  bool direct_ = false;
  bool usable_ = true;
  std::unique_ptr<char, Free> buffer_;
};

// Opens a regular file for reading and tells its size. O_NONBLOCK: opening a
// named pipe must not wait for a writer.
absl::StatusOr<ScopedFd> OpenRegular(const std::string& path,
                                     int64_t* size_bytes) {
  EK_ASSIGN_OR_RETURN(ScopedFd fd, OpenDescriptor(path, O_RDONLY | O_NONBLOCK));
  struct stat info;
  if (fstat(fd.get(), &info) != 0) return SystemError(errno, "stat", path);
  if (S_ISDIR(info.st_mode)) {
    return FileError("FILE_IS_FOLDER", "this is a folder", path, 0, 0);
  }
  if (!S_ISREG(info.st_mode)) {
    return FileError("FILE_NOT_REGULAR", "this is not a regular file", path, 0,
                     0);
  }
  *size_bytes = info.st_size;
  return fd;
}

// A string to read into.
std::string RoomFor(int64_t bytes) {
  std::string room;
  room.reserve(static_cast<size_t>(bytes));
  PreferHugePages(room.data(), room.capacity());
  room.resize(static_cast<size_t>(bytes));
  return room;
}

// Fills `out` from `offset` on and cuts it to what the file has.
absl::Status ReadAt(const ScopedFd& fd, int64_t offset, const std::string& path,
                    std::string* out) {
  size_t done = 0;
  while (done < out->size()) {
    const ssize_t n = pread(fd.get(), out->data() + done, out->size() - done,
                            offset + static_cast<int64_t>(done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return SystemError(errno, "read", path);
    if (n == 0) break;
    done += static_cast<size_t>(n);
  }
  out->resize(done);
  return absl::OkStatus();
}

class PosixFileSystem : public FileSystem {
 public:
  absl::StatusOr<std::unique_ptr<WritableFile>> Open(const std::string& path,
                                                     OpenMode mode) override {
    int flags = O_WRONLY | O_CREAT;
    if (mode == OpenMode::kCreateNew) flags |= O_EXCL;
    if (mode == OpenMode::kTruncate) flags |= O_TRUNC;
    const bool uncached = mode == OpenMode::kAppendUncached;
    const bool append = uncached || mode == OpenMode::kAppend;
    if (append) flags |= O_APPEND;
    // Opening a named pipe must not wait for a reader.
    EK_ASSIGN_OR_RETURN(ScopedFd fd, OpenDescriptor(path, flags | O_NONBLOCK));
    if (fcntl(fd.get(), F_SETFL, append ? O_APPEND : 0) != 0) {
      return SystemError(errno, "open", path);
    }
    if (uncached) {
      struct stat info;
      if (fstat(fd.get(), &info) != 0) return SystemError(errno, "stat", path);
      return std::make_unique<UncachedFile>(std::move(fd), path, info.st_size);
    }
    return std::make_unique<PosixWritableFile>(std::move(fd), path);
  }

  absl::StatusOr<std::string> Read(const std::string& path,
                                   int64_t max_bytes) override {
    int64_t size_bytes = 0;
    EK_ASSIGN_OR_RETURN(ScopedFd fd, OpenRegular(path, &size_bytes));
    if (size_bytes > max_bytes) {
      return FileError("FILE_TOO_LARGE", "the file is too large", path,
                       max_bytes, size_bytes);
    }
    std::string out = RoomFor(size_bytes);
    EK_RETURN_IF_ERROR(ReadAt(fd, 0, path, &out));
    return out;
  }

  absl::StatusOr<std::string> ReadRange(const std::string& path, int64_t offset,
                                        int64_t max_bytes) override {
    int64_t size_bytes = 0;
    EK_ASSIGN_OR_RETURN(ScopedFd fd, OpenRegular(path, &size_bytes));
    if (offset < 0 || max_bytes < 0) {
      return FileError("FILE_RANGE", "offset or length is negative", path, 0,
                       0);
    }
    const int64_t left = std::max<int64_t>(size_bytes - offset, 0);
    std::string out = RoomFor(std::min(left, max_bytes));
    EK_RETURN_IF_ERROR(ReadAt(fd, offset, path, &out));
    return out;
  }

  absl::StatusOr<FileInfo> Stat(const std::string& path) override {
    struct stat info;
    if (stat(path.c_str(), &info) != 0) return SystemError(errno, "stat", path);
    return FileInfo{.size_bytes = info.st_size,
                    .is_directory = S_ISDIR(info.st_mode),
                    .modified = absl::TimeFromTimespec(info.st_mtim)};
  }

  absl::Status SetModified(const std::string& path,
                           absl::Time modified) override {
    const timespec times[] = {{.tv_sec = 0, .tv_nsec = UTIME_OMIT},
                              absl::ToTimespec(modified)};
    if (utimensat(AT_FDCWD, path.c_str(), times, 0) != 0) {
      return SystemError(errno, "set the time", path);
    }
    return absl::OkStatus();
  }

  absl::Status Rename(const std::string& from, const std::string& to) override {
    if (rename(from.c_str(), to.c_str()) != 0) {
      return SystemError(errno, absl::StrCat("rename to ", to), from);
    }
    return absl::OkStatus();
  }

  absl::Status Remove(const std::string& path) override {
    if (remove(path.c_str()) != 0) return SystemError(errno, "remove", path);
    return absl::OkStatus();
  }

  absl::Status CreateDirectories(const std::string& path) override {
    if (mkdir(path.c_str(), 0700) == 0) return absl::OkStatus();
    for (size_t end = 0; end != std::string::npos;) {
      end = path.find('/', end + 1);
      const std::string prefix = path.substr(0, end);
      if (mkdir(prefix.c_str(), 0700) == 0) continue;
      const int error = errno;
      struct stat info;
      if (stat(prefix.c_str(), &info) == 0 && S_ISDIR(info.st_mode)) continue;
      return SystemError(error, "create the folder", prefix);
    }
    return absl::OkStatus();
  }

  absl::Status SyncFile(const std::string& path) override {
    int64_t size_bytes = 0;
    EK_ASSIGN_OR_RETURN(ScopedFd fd, OpenRegular(path, &size_bytes));
    if (fsync(fd.get()) != 0) return SystemError(errno, "sync", path);
    return absl::OkStatus();
  }

  absl::Status SyncDirectory(const std::string& path) override {
    EK_ASSIGN_OR_RETURN(ScopedFd fd,
                        OpenDescriptor(path, O_RDONLY | O_DIRECTORY));
    if (fsync(fd.get()) != 0) return SystemError(errno, "sync", path);
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<std::string>> List(
      const std::string& path) override {
    DIR* dir = opendir(path.c_str());
    if (dir == nullptr) return SystemError(errno, "list", path);
    std::vector<std::string> names;
    errno = 0;
    while (const dirent* entry = readdir(dir)) {
      const absl::string_view name(entry->d_name);
      if (name != "." && name != "..") names.emplace_back(name);
    }
    const int error = errno;
    closedir(dir);
    if (error != 0) return SystemError(error, "list", path);
    std::sort(names.begin(), names.end());
    return names;
  }
};

absl::Status WriteAll(WritableFile& file, absl::string_view bytes, bool sync) {
  EK_RETURN_IF_ERROR(file.Append(bytes));
  if (sync) EK_RETURN_IF_ERROR(file.Sync());
  return file.Close();
}

absl::Status Replace(FileSystem& files, const std::string& path,
                     absl::string_view bytes, bool sync) {
  // Process and counter tell concurrent writers apart; a left-over of a crashed
  // process with the same id is stepped over.
  static std::atomic<uint64_t> counter{0};
  std::string temporary;
  absl::StatusOr<std::unique_ptr<WritableFile>> file;
  do {
    temporary = absl::StrCat(path, kTemporaryMark, getpid(), ".", counter++);
    file = files.Open(temporary, OpenMode::kCreateNew);
  } while (absl::IsAlreadyExists(file.status()));
  EK_RETURN_IF_ERROR(file.status());
  absl::Status status = WriteAll(**file, bytes, sync);
  if (status.ok()) status = files.Rename(temporary, path);
  if (!status.ok()) {
    // The first failure is the one to report.
    files.Remove(temporary).IgnoreError();
    return status;
  }
  return sync ? files.SyncDirectory(ParentPath(path)) : absl::OkStatus();
}

}  // namespace

std::unique_ptr<FileSystem> NewPosixFileSystem() {
  return std::make_unique<PosixFileSystem>();
}

absl::Status WriteAtomically(FileSystem& files, const std::string& path,
                             absl::string_view bytes) {
  return Replace(files, path, bytes, /*sync=*/true);
}

absl::Status WriteBuffered(FileSystem& files, const std::string& path,
                           absl::string_view bytes) {
  return Replace(files, path, bytes, /*sync=*/false);
}

bool IsTemporaryName(absl::string_view name) {
  return absl::StrContains(name, kTemporaryMark);
}

std::string JoinPath(absl::string_view folder, absl::string_view name) {
  if (folder.empty()) return std::string(name);
  if (absl::EndsWith(folder, "/")) return absl::StrCat(folder, name);
  return absl::StrCat(folder, "/", name);
}

std::string ParentPath(absl::string_view path) {
  const size_t slash = path.rfind('/');
  if (slash == absl::string_view::npos) return ".";
  if (slash == 0) return "/";
  return std::string(path.substr(0, slash));
}

}  // namespace edgekiln
