#ifndef EK_SERVER_LATER_H_
#define EK_SERVER_LATER_H_

// Lets a task await a result that arrives by a callback, from any thread.
//
//   const absl::Status status = co_await Later<absl::Status>(
//       [&](std::function<void(absl::Status)> told) { Ask(..., told); });

#include <coroutine>
#include <functional>
#include <optional>
#include <utility>

#include "server/executor.h"
#include "server/task.h"

namespace edgekiln::server {

template <typename T>
class Later {
 public:
  using Told = std::function<void(T)>;
  // `ask` is given what to call exactly once, from within or later. It must
  // touch nothing of the task once it may have been called.
  explicit Later(std::function<void(Told)> ask) : ask_(std::move(ask)) {}

  bool await_ready() noexcept { return false; }
  template <typename Promise>
  void await_suspend(std::coroutine_handle<Promise> awaiting) {
    resumption_.handle = awaiting;
    executor_ = awaiting.promise().executor;
    // The task may go on, and this object be gone, before `ask` returns.
    const std::function<void(Told)> ask = std::move(ask_);
    ask([this](T value) {
      value_.emplace(std::move(value));
      executor_->Post(resumption_);
    });
  }
  T await_resume() { return *std::move(value_); }

 private:
  std::function<void(Told)> ask_;
  Executor* executor_ = nullptr;
  std::optional<T> value_;
  internal::Resumption resumption_;
};

}  // namespace edgekiln::server

#endif  // EK_SERVER_LATER_H_
