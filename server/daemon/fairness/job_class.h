#ifndef EK_SERVER_DAEMON_FAIRNESS_JOB_CLASS_H_
#define EK_SERVER_DAEMON_FAIRNESS_JOB_CLASS_H_

// The class of a job, and what follows from it.

#include "absl/time/time.h"
#include "edgekiln/v1/jobs.pb.h"

namespace edgekiln::server {

// INTERACTIVE, CI and BATCH; the class that the request asks for, or the one
// that follows from its goals.
v1::JobClass ClassOf(const v1::CreateJobRequest& request);

// Of the three classes only. INTERACTIVE goes before CI, CI before BATCH.
bool GoesBefore(v1::JobClass a, v1::JobClass b);

// What has waited longer is overdue; see fair_queue.h.
absl::Duration PatienceOf(v1::JobClass job_class);

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_FAIRNESS_JOB_CLASS_H_
