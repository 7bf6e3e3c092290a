#ifndef EK_SERVER_DAEMON_JOBS_JOB_SERVICES_H_
#define EK_SERVER_DAEMON_JOBS_JOB_SERVICES_H_

// Jobs and Reports over the network. Arguments must outlive the services; a
// service belongs to one server.

#include <grpcpp/impl/codegen/service_type.h>

#include <memory>

#include "server/daemon/activity.h"
#include "server/daemon/farm/quarantine.h"
#include "server/daemon/jobs/job_journal.h"
#include "server/daemon/jobs/job_manager.h"
#include "server/daemon/jobs/job_store.h"
#include "server/daemon/jobs/job_watchers.h"
#include "server/daemon/jobs/plan_sweep_call.h"
#include "server/executor.h"

namespace edgekiln::server {

std::unique_ptr<grpc::Service> NewJobsService(JobManager& jobs, JobStore& store,
                                              JobWatchers& watchers,
                                              Quarantine& quarantine,
                                              const SweepPlanner& planner,
                                              Activity& activity);
std::unique_ptr<grpc::Service> NewReportsService(JobStore& store,
                                                 cache::BlobStore& blobs,
                                                 Activity& activity);

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_JOBS_JOB_SERVICES_H_
