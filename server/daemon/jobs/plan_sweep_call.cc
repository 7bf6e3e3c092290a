#include "server/daemon/jobs/plan_sweep_call.h"

#include <memory>
#include <utility>

#include "server/daemon/jobs/admission.h"
#include "server/daemon/jobs/question_call.h"
#include "server/daemon/jobs/request_bounds.h"
#include "server/daemon/jobs/sweep_blobs.h"
#include "server/later.h"
#include "server/sweep/cells.h"
#include "server/validate_request.h"

namespace edgekiln::server {
namespace {

class PlanSweepCall final : public QuestionCall {
 public:
  PlanSweepCall(const v1::PlanSweepRequest& request, v1::SweepPlanned& response,
                const SweepPlanner& planner, Activity& activity)
      : QuestionCall(activity),
        bounded_(CheckBounds(request)),
        response_(response),
        planner_(planner),
        stored_(planner.blobs) {
    if (!bounded_.ok()) return;
    job_.add_goals(v1::SWEEP);
    *job_.mutable_sweep() = request.sweep();
  }

 private:
  Task<absl::Status> Answer(JobContext& stages, Executor&) override {
    EK_CO_RETURN_IF_ERROR(bounded_);
    EK_CO_RETURN_IF_ERROR(ValidateRequest(job_));
    Later<absl::Status> targets([this](const BlobsTold& told) {
      AskTargets(job_.sweep(), planner_.blobs, told);
    });
    const absl::Status present = co_await targets;
    EK_CO_RETURN_IF_ERROR(present);
    EK_CO_ASSIGN_OR_RETURN(
        const StoredPlan stored,
        co_await RunPlanStage(job_.sweep(), planner_.max_cells, stored_,
                              stages));
    response_ = PlannedOf(job_.sweep(), stored.plan, stored.digest);
    co_return absl::OkStatus();
  }

  const absl::Status bounded_;
  v1::CreateJobRequest job_;
  v1::SweepPlanned& response_;
  const SweepPlanner& planner_;
  StoredSweepBlobs stored_;
};

}  // namespace

grpc::ServerUnaryReactor* StartPlanSweep(const v1::PlanSweepRequest& request,
                                         v1::SweepPlanned& response,
                                         const SweepPlanner& planner,
                                         Activity& activity) {
  return QuestionCall::Start(
      std::make_shared<PlanSweepCall>(request, response, planner, activity),
      planner.questions);
}

}  // namespace edgekiln::server
