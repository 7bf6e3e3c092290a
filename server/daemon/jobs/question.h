#ifndef EK_SERVER_DAEMON_JOBS_QUESTION_H_
#define EK_SERVER_DAEMON_JOBS_QUESTION_H_

// Stages for someone who waits on the line, without a job being kept.
// Thread-safe.

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "server/daemon/stages/stage_runner.h"
#include "server/executor.h"
#include "server/job_context.h"
#include "server/task.h"

namespace edgekiln::server {

struct QuestionOptions {
  // More at once are refused with RESOURCE_EXHAUSTED.
  int max_questions = 4096;
  // For a first worker to appear, after the dispatcher has complained.
  // UNAVAILABLE afterwards.
  absl::Duration worker_grace = absl::Seconds(4);
};

// One that was asked.
class Question {
 public:
  virtual ~Question() = default;
  // Makes its stages end with `why`, and so the question, soon.
  virtual void Cancel(const absl::Status& why) = 0;
};

class Questions {
 public:
  // All must outlive the questions, which run in the threads of `executor`.
  Questions(QuestionOptions options, StageRunner& stages, Executor& executor,
            Clock& clock);
  ~Questions();  // As Stop().

  // Runs in the executor, starts stages in the context and returns how that
  // went.
  using Body = std::function<Task<absl::Status>(JobContext&, Executor&)>;
  // Must not block.
  using Answered = std::function<void(absl::Status)>;
  // Runs `body` in an executor of its own; `answered` is called exactly once
  // with what it returned, or from within if the question is refused:
  // RESOURCE_EXHAUSTED, or SHUTTING_DOWN. Null then. Both live until the
  // question is over.
  std::shared_ptr<Question> Ask(Body body, Answered answered);

  // Ends questions that no worker takes. To be called several times a second.
  void Tick();
  // Ends all with SHUTTING_DOWN, and blocks until they have been answered.
  void Stop();

 private:
  class Asked;

  absl::Status Enter(const std::shared_ptr<Asked>& asked);
  void Leave(const Asked* asked);
  std::vector<std::shared_ptr<Asked>> All();

  const QuestionOptions options_;
  StageRunner& stages_;
  Executor& executor_;
  Clock& clock_;
  Mutex mutex_;
  CondVar idle_;
  std::map<const Asked*, std::shared_ptr<Asked>> asked_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_JOBS_QUESTION_H_
