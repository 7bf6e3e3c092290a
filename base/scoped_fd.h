#ifndef EK_BASE_SCOPED_FD_H_
#define EK_BASE_SCOPED_FD_H_

#include <unistd.h>

#include <utility>

namespace edgekiln {

// Owns a descriptor, or none (negative), and closes it.
class ScopedFd {
 public:
  explicit ScopedFd(int fd = -1) : fd_(fd) {}
  ScopedFd(ScopedFd&& other) noexcept : fd_(other.release()) {}
  ScopedFd& operator=(ScopedFd&& other) noexcept {
    reset(other.release());
    return *this;
  }
  ~ScopedFd() { reset(); }

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  // The caller owns it from here on.
  int release() { return std::exchange(fd_, -1); }
  void reset(int fd = -1) {
    if (valid()) close(fd_);
    fd_ = fd;
  }

 private:
  int fd_;
};

}  // namespace edgekiln

#endif  // EK_BASE_SCOPED_FD_H_
