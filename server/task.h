#ifndef EK_SERVER_TASK_H_
#define EK_SERVER_TASK_H_

// Coroutines: functions that give their thread back while they wait.
//
//   Task<absl::Status> Compile() {
//     EK_CO_ASSIGN_OR_RETURN(const Graph graph, co_await Import());
//     ...
//     co_return absl::OkStatus();
//   }
//
// A task begins when it is awaited, or handed to StartTask() or a TaskScope.
// One that has begun runs to its end, and must not be destroyed before: what it
// waits for always comes, at the latest as CANCELLED. What tasks take by
// reference must live as long as they do.
//
// No exception leaves a task. Memory that cannot be had, for its locals or for
// the coroutine itself, is the error OutOfMemory().
//
// GCC 12 miscompiles some temporaries in the expression after co_await: give
// lambdas and braced lists a name first, and keep co_await out of `?:`.

#include <coroutine>
#include <exception>
#include <functional>
#include <future>
#include <new>
#include <optional>
#include <type_traits>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/status_macros.h"
#include "server/executor.h"

namespace edgekiln::server {

// RESOURCE_EXHAUSTED. Also what other exceptions become: none of our code and
// none of what it uses throws any.
absl::Status OutOfMemory();

namespace internal {

// A coroutine that goes on in an executor.
class Resumption final : public Executor::Work {
 public:
  void Run() override { handle.resume(); }
  std::coroutine_handle<> handle;
};

struct PromiseBase {
  Executor* executor = nullptr;  // That of whoever awaits it.
  std::coroutine_handle<> awaiting;

  // Gives way to whoever awaits this task, on a stack that does not grow.
  struct End {
    bool await_ready() noexcept { return false; }
    template <typename Promise>
    std::coroutine_handle<> await_suspend(
        std::coroutine_handle<Promise> ended) noexcept {
      return ended.promise().awaiting;
    }
    void await_resume() noexcept {}
  };
  std::suspend_always initial_suspend() noexcept { return {}; }
  End final_suspend() noexcept { return {}; }
};

}  // namespace internal

// T is absl::Status, absl::StatusOr<V>, or something else that can be made of a
// failed absl::Status.
template <typename T>
class [[nodiscard]] Task {
 public:
  static_assert(std::is_constructible_v<T, absl::Status>);

  struct promise_type : internal::PromiseBase {
    std::optional<T> value;

    Task get_return_object() noexcept {
      return Task(std::coroutine_handle<promise_type>::from_promise(*this));
    }
    static Task get_return_object_on_allocation_failure() noexcept {
      return Task(nullptr);
    }
    template <typename U>
    void return_value(U&& result) {
      value.emplace(std::forward<U>(result));
    }
    void unhandled_exception() noexcept { value.emplace(OutOfMemory()); }
  };

  Task(Task&& other) noexcept
      : handle_(std::exchange(other.handle_, nullptr)) {}
  Task& operator=(Task&&) = delete;
  ~Task() {
    if (handle_) handle_.destroy();
  }

  class Awaiter {
   public:
    explicit Awaiter(std::coroutine_handle<promise_type> handle) noexcept
        : handle_(handle) {}
    bool await_ready() const noexcept { return !handle_; }
    template <typename Promise>
    std::coroutine_handle<> await_suspend(
        std::coroutine_handle<Promise> awaiting) noexcept {
      handle_.promise().executor = awaiting.promise().executor;
      handle_.promise().awaiting = awaiting;
      return handle_;
    }
    T await_resume() {
      if (!handle_) return T(OutOfMemory());
      return *std::move(handle_.promise().value);
    }

   private:
    const std::coroutine_handle<promise_type> handle_;
  };
  Awaiter operator co_await() && noexcept { return Awaiter(handle_); }

 private:
  explicit Task(std::coroutine_handle<promise_type> handle) noexcept
      : handle_(handle) {}

  std::coroutine_handle<promise_type> handle_;  // Null: out of memory.
};

namespace internal {

// The first coroutine of a stack of them; destroys itself at its end.
struct Root {
  struct promise_type {
    Executor* executor = nullptr;
    Resumption start;

    Root get_return_object() noexcept { return {this}; }
    static Root get_return_object_on_allocation_failure() noexcept {
      return {nullptr};
    }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() noexcept {}
    // Of `done`, which must not throw.
    void unhandled_exception() noexcept { std::terminate(); }
  };
  promise_type* promise;
};

template <typename T>
Root RunRoot(Task<T> task, std::function<void(T)> done) {
  T result = co_await std::move(task);
  // What it held is gone before `done` tells of its end.
  { const Task<T> ended = std::move(task); }
  done(std::move(result));
}

}  // namespace internal

// Runs `task` in `executor`, and then calls `done` there with its result; from
// within, if there is no memory to begin with. `done` must not throw.
template <typename T>
void StartTask(Executor& executor, Task<T> task,
               const std::type_identity_t<std::function<void(T)>>& done) {
  internal::Root root{nullptr};
  try {
    root = internal::RunRoot<T>(std::move(task), done);
  } catch (const std::bad_alloc&) {  // The copy of `done`.
  }
  if (root.promise == nullptr) return done(T(OutOfMemory()));
  using Promise = internal::Root::promise_type;
  root.promise->executor = &executor;
  root.promise->start.handle =
      std::coroutine_handle<Promise>::from_promise(*root.promise);
  executor.Post(root.promise->start);
}

// Blocks until the task is over: for tests, never in a thread of `executor`.
template <typename T>
T RunToEnd(Executor& executor, Task<T> task) {
  std::promise<T> ended;
  StartTask(executor, std::move(task),
            [&ended](T result) { ended.set_value(std::move(result)); });
  return ended.get_future().get();
}

}  // namespace edgekiln::server

// As EK_RETURN_IF_ERROR and EK_ASSIGN_OR_RETURN, in a task.
#define EK_CO_RETURN_IF_ERROR(expr, ...)                                    \
  do {                                                                      \
    const ::absl::Status ek_status_ = (expr);                               \
    if (!ek_status_.ok())                                                   \
      co_return ::edgekiln::internal::WithContext(ek_status_ __VA_OPT__(, ) \
                                                      __VA_ARGS__);         \
  } while (false)

#define EK_CO_ASSIGN_OR_RETURN(lhs, expr, ...)                         \
  EK_CO_ASSIGN_OR_RETURN_(EK_CONCAT_(ek_status_or_, __COUNTER__), lhs, \
                          expr __VA_OPT__(, ) __VA_ARGS__)
#define EK_CO_ASSIGN_OR_RETURN_(tmp, lhs, expr, ...)                        \
  auto&& tmp = (expr);                                                      \
  if (!tmp.ok())                                                            \
    co_return ::edgekiln::internal::WithContext(tmp.status() __VA_OPT__(, ) \
                                                    __VA_ARGS__);           \
  lhs = *std::forward<decltype(tmp)>(tmp)

#endif  // EK_SERVER_TASK_H_
