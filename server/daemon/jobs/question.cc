#include "server/daemon/jobs/question.h"

#include <chrono>
#include <future>
#include <memory>
#include <string>

#include "base/error.h"
#include "base/mutex.h"
#include "server/daemon/stages/stage_group.h"

namespace edgekiln::server {
namespace {

constexpr auto kPoll = std::chrono::milliseconds(50);

using SteadyTime = std::chrono::steady_clock::time_point;

// Shared with hooks, which may outlive the question.
struct Complaint {
  Mutex mutex;
  std::string reason ABSL_GUARDED_BY(mutex);  // Empty: none.
  SteadyTime since ABSL_GUARDED_BY(mutex);
};

absl::Status NoWorker(const std::string& reason, absl::Duration grace) {
  return MakeError(absl::StatusCode::kUnavailable,
                   {.fault = Fault::kInfra,
                    .reason = "NO_WORKER",
                    .what = "no worker took the question in time",
                    .where = reason,
                    .limit = absl::FormatDuration(grace),
                    .fix = "start edgekiln-worker and ask again"});
}

}  // namespace

absl::Status Ask(StageRunner& stages, const QuestionOptions& options,
                 const std::function<absl::Status(JobContext&)>& ask) {
  const auto complaint = std::make_shared<Complaint>();
  StageGroupHooks hooks;
  hooks.waiting = [complaint](const StageId&,
                              const v1::JobEvent::Waiting& why) {
    MutexLock lock(complaint->mutex);
    // Busy ones will have time.
    if (why.cause() == v1::JobEvent::Waiting::ALL_BUSY) {
      complaint->reason.clear();
      return;
    }
    if (complaint->reason.empty()) {
      complaint->since = std::chrono::steady_clock::now();
    }
    complaint->reason = why.reason();
  };
  hooks.started = [complaint](const StageId&) {
    MutexLock lock(complaint->mutex);
    complaint->reason.clear();
  };
  hooks.finished = [complaint](const StageId&, const v1::Report::Stage&) {
    MutexLock lock(complaint->mutex);
    complaint->reason.clear();
  };
  StageGroup group(stages, std::move(hooks));
  std::future<absl::Status> answer =
      std::async(std::launch::async, [&] { return ask(group); });
  while (answer.wait_for(kPoll) != std::future_status::ready) {
    if (options.cancelled && options.cancelled()) {
      group.Cancel(absl::CancelledError("the caller went away"));
    }
    MutexLock lock(complaint->mutex);
    if (!complaint->reason.empty() &&
        std::chrono::steady_clock::now() - complaint->since >
            absl::ToChronoMilliseconds(options.worker_grace)) {
      group.Cancel(NoWorker(complaint->reason, options.worker_grace));
      complaint->reason.clear();
    }
  }
  return answer.get();
}

}  // namespace edgekiln::server
