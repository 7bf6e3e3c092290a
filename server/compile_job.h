#ifndef EK_SERVER_COMPILE_JOB_H_
#define EK_SERVER_COMPILE_JOB_H_

// The way of a request through the system: which stages a job consists of, in
// which order, and what each is handed. Start reading here.

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "edgekiln/v1/jobs.pb.h"
#include "server/job_context.h"

namespace edgekiln::server {

// Samples per simulated chunk: a chunk is what one lease works on.
inline constexpr int kChunkSamples = 16;
// Samples of its data that a profile compares on, unless a limit is given.
inline constexpr int kProfiledSamples = 16;

struct JobResult {
  // One per target; one without a target for RUN without targets.
  std::vector<v1::Report> reports;
  std::vector<v1::Artifact> artifacts;
  v1::ModelDescription description;  // Goal INSPECT.
  // OK, or what made the first failed target fail. A failed target does not
  // stop the others. CANCELLED if the job was.
  absl::Status status;
};

// Runs a valid request to its end. Blocks; uses a thread per target. Executes
// and opens nothing itself: every step goes through `context`.
JobResult RunCompileJob(const std::string& job_id,
                        const v1::CreateJobRequest& request,
                        JobContext& context);

}  // namespace edgekiln::server

#endif  // EK_SERVER_COMPILE_JOB_H_
