#ifndef EK_SERVER_EXECUTOR_H_
#define EK_SERVER_EXECUTOR_H_

// Runs posted work in a fixed number of threads, however many jobs, targets and
// watchers there are. One executor owns the threads; each job, each question
// and each connection with watchers has an executor that shares them. Executors
// with work take turns, one piece of work each, so that a job of very many
// targets delays no other; those in the background get few turns while others
// have work (background_turns.h). Post() allocates nothing and runs nothing
// itself, so that it may be called from any stack, though not under a lock that
// the work takes. Thread-safe.

#include <memory>

#include "absl/status/statusor.h"

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

  // With threads of its own. Errors: RESOURCE_EXHAUSTED if the system refuses
  // one. Without any, what is posted runs in RunPosted().
  static absl::StatusOr<std::unique_ptr<Executor>> New(int threads);
  // Shares the threads of `owner`, which must outlive it.
  explicit Executor(Executor& owner, bool background = false);
  // The owner of the threads runs what was posted, and what that posts, to the
  // end; nothing else may be posted any more. One that shares them must have no
  // work left in its queue; its last work may still run, and may destroy it.
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  // Runs `work` after what was posted here before, in turns with the executors
  // that share the threads.
  void Post(Work& work);

  // Runs here what was posted, and what that posts, until nothing is left.
  void RunPosted();

 private:
  // First in, first out, by next_ of what is queued.
  template <typename T>
  struct Queue {
    T* first = nullptr;
    T* last = nullptr;

    void Push(T& one) {
      one.next_ = nullptr;
      (last == nullptr ? first : last->next_) = &one;
      last = &one;
    }
    T& Pop() {
      T& one = *first;
      first = one.next_;
      if (first == nullptr) last = nullptr;
      return one;
    }
  };
  class Threads;

  explicit Executor(std::unique_ptr<Threads> own);

  std::unique_ptr<Threads> own_;  // Null if they are another's.
  Threads& threads_;
  const bool background_ = false;
  // work_ and next_ are guarded by the mutex of `threads_`.
  Queue<Work> work_;
  Executor* next_ = nullptr;  // In the queue of executors with work.
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
