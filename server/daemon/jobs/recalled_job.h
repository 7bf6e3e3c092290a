#ifndef EK_SERVER_DAEMON_JOBS_RECALLED_JOB_H_
#define EK_SERVER_DAEMON_JOBS_RECALLED_JOB_H_

// Jobs that need not be run: the results of all their stages are at hand. Such
// a job takes no turn, and is stored once, as it ended.

#include <optional>
#include <vector>

#include "base/clock.h"
#include "edgekiln/v1/jobs.pb.h"
#include "edgekiln/v1/report.pb.h"
#include "server/daemon/stages/stage_runner.h"

namespace edgekiln::server {

struct RecalledJob {
  v1::Job job;                       // As it ended.
  std::vector<v1::JobEvent> events;  // All, as if it had been run.
  std::vector<v1::Report> reports;
};

// The outcome of `job`, which is QUEUED and has its whole request; nothing if
// it must be run. Reads the attributes of some dozen files and no contents.
std::optional<RecalledJob> RecallJob(const v1::Job& job, StageRunner& stages,
                                     Clock& clock);

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_JOBS_RECALLED_JOB_H_
