#ifndef EK_SERVER_DAEMON_JOBS_QUESTION_H_
#define EK_SERVER_DAEMON_JOBS_QUESTION_H_

// Stages for someone who waits on the line, without a job being kept.

#include <functional>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "server/daemon/stages/stage_runner.h"
#include "server/job_context.h"

namespace edgekiln::server {

struct QuestionOptions {
  // Polled; true ends the question with CANCELLED.
  std::function<bool()> cancelled;
  // For a first worker to appear, after the dispatcher has complained.
  // UNAVAILABLE afterwards.
  absl::Duration worker_grace = absl::Seconds(4);
};

// Runs `ask` on a thread of its own with a context to start stages in, and
// returns what it returns. Blocks.
absl::Status Ask(StageRunner& stages, const QuestionOptions& options,
                 const std::function<absl::Status(JobContext&)>& ask);

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_JOBS_QUESTION_H_
