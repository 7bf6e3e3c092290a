#ifndef EK_SERVER_DAEMON_JOBS_PLAN_SWEEP_CALL_H_
#define EK_SERVER_DAEMON_JOBS_PLAN_SWEEP_CALL_H_

// Jobs.PlanSweep: what a sweep would run.

#include <grpcpp/grpcpp.h>

#include <cstdint>

#include "cache/blob_store.h"
#include "edgekiln/v1/jobs.pb.h"
#include "server/daemon/activity.h"
#include "server/daemon/jobs/question.h"

namespace edgekiln::server {

struct SweepPlanner {
  Questions& questions;
  cache::BlobStore& blobs;
  int64_t max_cells = 0;
};

// What the method returns to gRPC. `planner` must outlive the call.
grpc::ServerUnaryReactor* StartPlanSweep(const v1::PlanSweepRequest& request,
                                         v1::SweepPlanned& response,
                                         const SweepPlanner& planner,
                                         Activity& activity);

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_JOBS_PLAN_SWEEP_CALL_H_
