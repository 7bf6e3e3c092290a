#ifndef EK_SERVER_SWEEP_SWEEP_MAIL_H_
#define EK_SERVER_SWEEP_SWEEP_MAIL_H_

// What a sweep is told while it waits. Thread-safe; one task reads it.

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "edgekiln/v1/jobs.pb.h"
#include "server/later.h"
#include "server/sweep/sweep_job.h"

namespace edgekiln::server {

struct SweepNews {
  enum class Kind {
    kBell,
    kCreated,  // `job`.
    kEnded,
  };
  Kind kind = Kind::kBell;
  int cell = 0;
  absl::StatusOr<v1::Job> job = absl::UnknownError("");
};

class SweepMail final : public SweepBell {
 public:
  void Ring() override { Deliver({}); }

  void Post(SweepNews news) { Deliver(std::move(news)); }

  // The next news, if there are any; rings of the bell come last, and as one.
  std::optional<SweepNews> TryTake() {
    MutexLock lock(mutex_);
    return Take();
  }

  // The next news, to be awaited.
  static Later<SweepNews> Next(std::shared_ptr<SweepMail> mail) {
    return Later<SweepNews>(
        [mail = std::move(mail)](std::function<void(SweepNews)> told) {
          mail->Ask(std::move(told));
        });
  }

 private:
  // Calls `told` with the next news: from within, or later.
  void Ask(std::function<void(SweepNews)> told) {
    std::optional<SweepNews> next;
    {
      MutexLock lock(mutex_);
      next = Take();
      if (!next.has_value()) {
        reader_ = std::move(told);
        return;
      }
    }
    told(*std::move(next));
  }

  std::optional<SweepNews> Take() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (news_.empty()) {
      if (!std::exchange(rung_, false)) return std::nullopt;
      return SweepNews{};
    }
    SweepNews next = std::move(news_.front());
    news_.pop_front();
    return next;
  }

  void Deliver(SweepNews news) {
    std::function<void(SweepNews)> reader;
    {
      MutexLock lock(mutex_);
      if (reader_ == nullptr) {
        if (news.kind == SweepNews::Kind::kBell) {
          rung_ = true;
        } else {
          news_.push_back(std::move(news));
        }
        return;
      }
      reader = std::exchange(reader_, nullptr);
    }
    reader(std::move(news));
  }

  Mutex mutex_;
  std::deque<SweepNews> news_ ABSL_GUARDED_BY(mutex_);
  bool rung_ ABSL_GUARDED_BY(mutex_) = false;
  std::function<void(SweepNews)> reader_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace edgekiln::server

#endif  // EK_SERVER_SWEEP_SWEEP_MAIL_H_
