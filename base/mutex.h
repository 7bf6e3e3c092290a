#ifndef EK_BASE_MUTEX_H_
#define EK_BASE_MUTEX_H_

// std::mutex and std::condition_variable with types that clang's thread safety
// analysis understands: what is ABSL_GUARDED_BY(a mutex) is touched under it
// only, or `tools/check_locks` fails.

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "absl/base/thread_annotations.h"

namespace edgekiln {

class ABSL_LOCKABLE Mutex {
 public:
  void Lock() ABSL_EXCLUSIVE_LOCK_FUNCTION() { mutex_.lock(); }
  void Unlock() ABSL_UNLOCK_FUNCTION() { mutex_.unlock(); }

 private:
  friend class MutexLock;
  std::mutex mutex_;
};

// Holds a mutex, from construction to destruction but for what lies between
// Unlock() and Lock().
class ABSL_SCOPED_LOCKABLE MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) ABSL_EXCLUSIVE_LOCK_FUNCTION(mutex)
      : lock_(mutex.mutex_) {}
  ~MutexLock() ABSL_UNLOCK_FUNCTION() = default;
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

  void Unlock() ABSL_UNLOCK_FUNCTION() { lock_.unlock(); }
  void Lock() ABSL_EXCLUSIVE_LOCK_FUNCTION() { lock_.lock(); }

 private:
  friend class CondVar;
  std::unique_lock<std::mutex> lock_;
};

// Waiting may end without a reason: loop over the condition. The analysis does
// not see into a predicate given as lambda, which is why none is taken.
class CondVar {
 public:
  void Wait(MutexLock& lock) { changed_.wait(lock.lock_); }
  // False once that time has passed.
  bool WaitUntil(MutexLock& lock, std::chrono::steady_clock::time_point end) {
    return changed_.wait_until(lock.lock_, end) == std::cv_status::no_timeout;
  }
  bool WaitFor(MutexLock& lock, std::chrono::nanoseconds timeout) {
    return WaitUntil(lock, std::chrono::steady_clock::now() + timeout);
  }
  void NotifyOne() { changed_.notify_one(); }
  void NotifyAll() { changed_.notify_all(); }

 private:
  std::condition_variable changed_;
};

}  // namespace edgekiln

#endif  // EK_BASE_MUTEX_H_
