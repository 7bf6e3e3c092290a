#ifndef EK_SERVER_DAEMON_JOBS_JOB_HEAD_H_
#define EK_SERVER_DAEMON_JOBS_JOB_HEAD_H_

// The few kilobytes of a job that lists show and that a queued job needs in
// memory. The rest stays on disk.

#include "edgekiln/v1/jobs.pb.h"

namespace edgekiln::server {

// What decides about a request before it runs: names, goals, options, slot. No
// digests, data, bindings and transforms. Target names are bounded together;
// those that do not fit are empty.
v1::CreateJobRequest RequestHead(const v1::CreateJobRequest& request);

// Without stages, artifacts and description; of the request its head.
v1::Job JobHead(const v1::Job& job);

// What ListJobs shows of a head.
void ShowInList(v1::Job& head);

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_JOBS_JOB_HEAD_H_
