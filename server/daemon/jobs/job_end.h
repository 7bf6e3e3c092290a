#ifndef EK_SERVER_DAEMON_JOBS_JOB_END_H_
#define EK_SERVER_DAEMON_JOBS_JOB_END_H_

// How a job ends.

#include <string>

#include "absl/time/time.h"
#include "edgekiln/v1/jobs.pb.h"
#include "server/compile_job.h"

namespace edgekiln::server {

// Makes `job` over at `now`, as `result` says. Of that the reports are left,
// but for a cancelled job, which has none.
void EndJob(JobResult& result, absl::Time now, v1::Job& job);

// For the log, of a job that is over:
// "job j01 SUCCEEDED in 1.2 s: net.onnx, for ci". Texts of clients are cut and
// have no control characters.
std::string DescribeEnd(const v1::Job& job);

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_JOBS_JOB_END_H_
