#ifndef EK_SERVER_EXECUTOR_H_
#define EK_SERVER_EXECUTOR_H_

// The threads in which jobs go on between their stages: a fixed number, however
// many jobs, targets and watchers there are. Posting allocates nothing and
// never runs anything itself, so that it may be done from any stack, though not
// under a lock that the work takes. Thread-safe.

#include <memory>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "base/mutex.h"

namespace edgekiln::server {

class Executor {
 public:
  // Something to be run. Belongs to whoever posts it, and must live until its
  // Run() has begun; in one queue or WaitList at a time.
  class Work {
   public:
    Work() = default;
    Work(const Work&) = delete;
    Work& operator=(const Work&) = delete;
    // May destroy the work itself. Must not throw.
    virtual void Run() = 0;

   protected:
    ~Work() = default;

   private:
    friend class Executor;
    friend class WaitList;
    Work* next_ = nullptr;
    Executor* executor_ = nullptr;  // While it is in a WaitList.
  };

  // Errors: RESOURCE_EXHAUSTED if the system refuses a thread. With none of its
  // own, what is posted runs in RunPosted().
  static absl::StatusOr<std::unique_ptr<Executor>> New(int threads);
  // Runs what was posted, and what that posts, to the end. Nobody else may post
  // any more.
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  // Runs in order of posting.
  void Post(Work& work);

  // Runs here what was posted, and what that posts, until nothing is left.
  void RunPosted();

 private:
  Executor() = default;
  void RunLoop();
  // There is one.
  Work& TakeFirst() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Mutex mutex_;
  CondVar posted_;
  Work* first_ ABSL_GUARDED_BY(mutex_) = nullptr;
  Work* last_ ABSL_GUARDED_BY(mutex_) = nullptr;
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

// Work that waits for the same thing, each with the executor it is for. Not
// thread-safe; movable.
class WaitList {
 public:
  WaitList() = default;
  WaitList(WaitList&& other) noexcept : first_(other.first_) {
    other.first_ = nullptr;
  }
  WaitList& operator=(WaitList&&) = delete;

  void Add(Executor::Work& work, Executor& executor) {
    work.executor_ = &executor;
    work.next_ = first_;
    first_ = &work;
  }
  // Posts all, in the order in which they were added, and forgets them.
  void PostAll();

 private:
  Executor::Work* first_ = nullptr;  // Newest first.
};

}  // namespace edgekiln::server

#endif  // EK_SERVER_EXECUTOR_H_
