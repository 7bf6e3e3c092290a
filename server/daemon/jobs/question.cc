#include "server/daemon/jobs/question.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "server/daemon/shutting_down.h"
#include "server/daemon/stages/stage_group.h"

namespace edgekiln::server {
namespace {

absl::Status NoWorker(const std::string& reason, absl::Duration grace) {
  return MakeError(absl::StatusCode::kUnavailable,
                   {.fault = Fault::kInfra,
                    .reason = "NO_WORKER",
                    .what = "no worker was free to answer",
                    .where = reason,
                    .limit = absl::FormatDuration(grace),
                    .fix = "start edgekiln-worker and ask again"});
}

absl::Status TooManyQuestions(int limit) {
  return MakeError(absl::StatusCode::kResourceExhausted,
                   {.fault = Fault::kQuota,
                    .reason = "TOO_MANY_QUESTIONS",
                    .what = "too many models and targets are looked at already",
                    .limit = absl::StrCat(limit, " at once"),
                    .need = "one of them to end",
                    .fix = "try again in some seconds"});
}

}  // namespace

class Questions::Asked final : public Question,
                               public std::enable_shared_from_this<Asked> {
 public:
  Asked(StageRunner& stages, Executor& executor, Clock& clock, Body body,
        Answered answered)
      : body_(std::move(body)),
        answered_(std::move(answered)),
        stages_(stages),
        clock_(clock),
        executor_(executor) {}

  // First of all: from then on it can be cancelled.
  void Prepare() { group_ = std::make_unique<StageGroup>(stages_, Hooks()); }
  void Refuse(const absl::Status& why) { answered_(why); }
  // Calls `over` once nothing runs any more.
  void Start(std::function<void()> over) {
    StartTask(executor_, body_(*group_, executor_),
              [self = shared_from_this(),
               over = std::move(over)](absl::Status status) {
                self->answered_(std::move(status));
                over();
              });
  }

  void Cancel(const absl::Status& why) override { group_->Cancel(why); }

  // How long no worker has been there for what it waits for, and why; negative
  // if there is one.
  absl::Duration WithoutWorkerFor(std::string& reason) {
    MutexLock lock(mutex_);
    reason = complaint_;
    return complaint_.empty() ? -absl::InfiniteDuration()
                              : clock_.Monotonic() - since_;
  }

 private:
  // They may outlive the question.
  StageGroupHooks Hooks() {
    StageGroupHooks hooks;
    hooks.waiting = [weak = weak_from_this()](
                        const StageId&, const v1::JobEvent::Waiting& why) {
      // Busy ones will have time.
      const bool busy = why.cause() == v1::JobEvent::Waiting::ALL_BUSY;
      if (const auto self = weak.lock()) {
        self->Complain(busy ? "" : why.reason());
      }
    };
    hooks.started = [weak = weak_from_this()](const StageId&) {
      if (const auto self = weak.lock()) self->Complain("");
    };
    hooks.finished = [weak = weak_from_this()](const StageId&,
                                               const v1::Report::Stage&) {
      if (const auto self = weak.lock()) self->Complain("");
    };
    return hooks;
  }

  void Complain(const std::string& reason) {
    MutexLock lock(mutex_);
    if (complaint_.empty()) since_ = clock_.Monotonic();
    complaint_ = reason;
  }

  const Body body_;
  const Answered answered_;
  StageRunner& stages_;
  Clock& clock_;
  Executor executor_;
  std::unique_ptr<StageGroup> group_;
  Mutex mutex_;
  std::string complaint_ ABSL_GUARDED_BY(mutex_);  // Empty: none.
  absl::Duration since_ ABSL_GUARDED_BY(mutex_);
};

Questions::Questions(QuestionOptions options, StageRunner& stages,
                     Executor& executor, Clock& clock)
    : options_(options), stages_(stages), executor_(executor), clock_(clock) {}

Questions::~Questions() { Stop(); }

std::shared_ptr<Question> Questions::Ask(Body body, Answered answered) {
  const auto asked = std::make_shared<Asked>(
      stages_, executor_, clock_, std::move(body), std::move(answered));
  asked->Prepare();
  if (const absl::Status refused = Enter(asked); !refused.ok()) {
    asked->Refuse(refused);
    return nullptr;
  }
  asked->Start([this, key = asked.get()] { Leave(key); });
  return asked;
}

absl::Status Questions::Enter(const std::shared_ptr<Asked>& asked) {
  MutexLock lock(mutex_);
  if (stopping_) return ShuttingDown();
  if (static_cast<int>(asked_.size()) >= options_.max_questions) {
    return TooManyQuestions(options_.max_questions);
  }
  asked_.emplace(asked.get(), asked);
  return absl::OkStatus();
}

void Questions::Leave(const Asked* asked) {
  std::shared_ptr<Asked> last;
  MutexLock lock(mutex_);
  last = std::move(asked_.at(asked));
  asked_.erase(asked);
  // Stop() may end this object once the lock is free.
  if (asked_.empty()) idle_.NotifyAll();
}

std::vector<std::shared_ptr<Questions::Asked>> Questions::All() {
  MutexLock lock(mutex_);
  std::vector<std::shared_ptr<Asked>> all;
  for (const auto& [key, asked] : asked_) all.push_back(asked);
  return all;
}

void Questions::Tick() {
  for (const std::shared_ptr<Asked>& asked : All()) {
    std::string reason;
    if (asked->WithoutWorkerFor(reason) > options_.worker_grace) {
      asked->Cancel(NoWorker(reason, options_.worker_grace));
    }
  }
}

void Questions::Stop() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
  }
  for (const std::shared_ptr<Asked>& asked : All()) {
    asked->Cancel(ShuttingDown());
  }
  MutexLock lock(mutex_);
  while (!asked_.empty()) idle_.Wait(lock);
}

}  // namespace edgekiln::server
