#ifndef EK_SERVER_COMPILE_JOB_H_
#define EK_SERVER_COMPILE_JOB_H_

// The way of a request through the system: which stages a job consists of, in
// which order, and what each is handed. Start reading here.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "edgekiln/v1/jobs.pb.h"
#include "server/executor.h"
#include "server/job_context.h"
#include "server/task.h"

namespace edgekiln::server {

// Samples per simulated chunk: a chunk is what one lease works on.
inline constexpr int kChunkSamples = 16;
// Samples of its data that a profile compares on, unless a limit is given.
inline constexpr int kProfiledSamples = 16;

struct JobResult {
  JobResult() = default;
  // Of a job that got nowhere.
  explicit JobResult(absl::Status why) : status(std::move(why)) {}

  // One per target; one without a target for RUN and QUANTIZE
  // without targets.
  std::vector<v1::Report> reports;
  std::vector<v1::Artifact> artifacts;
  v1::ModelDescription description;       // Goal INSPECT.
  std::optional<v1::SweepSummary> sweep;  // Goal SWEEP, once it is planned.
  // OK, or what made the first failed target fail. A failed target does not
  // stop the others. CANCELLED if the job was.
  absl::Status status;
};

// Runs a valid request to its end, its targets beside each other. Executes and
// opens nothing itself: every step goes through `context`. The arguments must
// outlive the task.
Task<JobResult> RunCompileJob(std::string job_id,
                              const v1::CreateJobRequest& request,
                              JobContext& context, Executor& executor);

}  // namespace edgekiln::server

#endif  // EK_SERVER_COMPILE_JOB_H_
