#ifndef EK_SERVER_DAEMON_JOBS_QUESTION_CALL_H_
#define EK_SERVER_DAEMON_JOBS_QUESTION_CALL_H_

// A unary call that is answered by stages, without a thread while they run.

#include <grpcpp/grpcpp.h>

#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "base/mutex.h"
#include "server/daemon/activity.h"
#include "server/daemon/jobs/question.h"
#include "server/daemon/rpc_status.h"
#include "server/job_context.h"
#include "server/task.h"

namespace edgekiln::server {

// Lives until gRPC is done with it; whoever goes away ends the question.
class QuestionCall : public grpc::ServerUnaryReactor,
                     public std::enable_shared_from_this<QuestionCall> {
 public:
  explicit QuestionCall(Activity& activity) : call_(activity) {}

  // What a method returns to gRPC.
  static grpc::ServerUnaryReactor* Start(std::shared_ptr<QuestionCall> call,
                                         Questions& questions) {
    call->self_ = call;
    call->Asked(questions.Ask(
        [call](JobContext& stages, Executor& executor) {
          return call->Answer(stages, executor);
        },
        [call](const absl::Status& status) { call->Finish(ToGrpc(status)); }));
    return call.get();
  }

  void OnCancel() override {
    std::shared_ptr<Question> question;
    {
      MutexLock lock(mutex_);
      cancelled_ = true;
      question = question_.lock();
    }
    if (question != nullptr) question->Cancel(Left());
  }

  void OnDone() override { const auto last = std::move(self_); }

 protected:
  // Fills the response; runs in `executor`.
  virtual Task<absl::Status> Answer(JobContext& stages, Executor& executor) = 0;

 private:
  static absl::Status Left() {
    return absl::CancelledError("the caller went away");
  }

  void Asked(const std::shared_ptr<Question>& question) {
    MutexLock lock(mutex_);
    question_ = question;
    const bool cancelled = cancelled_;
    lock.Unlock();
    if (cancelled && question != nullptr) question->Cancel(Left());
  }

  const Activity::Call call_;
  std::shared_ptr<QuestionCall> self_;  // Until OnDone().
  Mutex mutex_;
  std::weak_ptr<Question> question_ ABSL_GUARDED_BY(mutex_);  // It holds us.
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_JOBS_QUESTION_CALL_H_
