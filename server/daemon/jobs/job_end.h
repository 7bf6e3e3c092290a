#ifndef EK_SERVER_DAEMON_JOBS_JOB_END_H_
#define EK_SERVER_DAEMON_JOBS_JOB_END_H_

// How a job ends.

#include "absl/time/time.h"
#include "edgekiln/v1/jobs.pb.h"
#include "server/compile_job.h"

namespace edgekiln::server {

// Makes `job` over at `now`, as `result` says. Of that the reports are left,
// but for a cancelled job, which has none.
void EndJob(JobResult& result, absl::Time now, v1::Job& job);

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_JOBS_JOB_END_H_
