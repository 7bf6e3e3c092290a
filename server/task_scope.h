#ifndef EK_SERVER_TASK_SCOPE_H_
#define EK_SERVER_TASK_SCOPE_H_

// Tasks that run beside the one that owns the scope.

#include <coroutine>
#include <utility>

#include "absl/status/status.h"
#include "base/mutex.h"
#include "server/executor.h"
#include "server/task.h"

namespace edgekiln::server {

// Thread-safe. Everything that was spawned must have ended, that is, somebody
// must have awaited Join(), before the scope is destroyed.
class TaskScope {
 public:
  explicit TaskScope(Executor& executor) : executor_(executor) {}
  TaskScope(const TaskScope&) = delete;
  TaskScope& operator=(const TaskScope&) = delete;

  // Runs `task`, which leaves its result in `result`. Its start is posted: none
  // of it runs on this stack.
  void Spawn(Task<absl::Status> task, absl::Status& result) {
    {
      MutexLock lock(mutex_);
      ++running_;
    }
    StartTask(executor_, std::move(task), [this, &result](absl::Status ended) {
      result = std::move(ended);
      Ended();
    });
  }

  class Joined {
   public:
    explicit Joined(TaskScope& scope) : scope_(scope) {}
    bool await_ready() const noexcept { return false; }
    template <typename Promise>
    bool await_suspend(std::coroutine_handle<Promise> awaiting) {
      resumption_.handle = awaiting;
      return scope_.ResumeOnceIdle(resumption_, *awaiting.promise().executor);
    }
    void await_resume() const noexcept {}

   private:
    TaskScope& scope_;
    internal::Resumption resumption_;
  };

  // To be awaited: until nothing of what was spawned runs any more. By as many
  // as like.
  Joined Join() { return Joined(*this); }

 private:
  // False if nothing runs.
  bool ResumeOnceIdle(Executor::Work& work, Executor& executor) {
    MutexLock lock(mutex_);
    if (running_ == 0) return false;
    waiting_.Add(work, executor);
    return true;
  }

  void Ended() {
    MutexLock lock(mutex_);
    if (--running_ > 0) return;
    WaitList waiting = std::move(waiting_);
    // The owner may destroy the scope from here on.
    lock.Unlock();
    waiting.PostAll();
  }

  Executor& executor_;
  Mutex mutex_;
  int running_ ABSL_GUARDED_BY(mutex_) = 0;
  WaitList waiting_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace edgekiln::server

#endif  // EK_SERVER_TASK_SCOPE_H_
