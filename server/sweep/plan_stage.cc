#include "server/sweep/plan_stage.h"

#include <utility>

#include "base/status_macros.h"
#include "server/stage_results.h"
#include "server/sweep/kept_models.h"
#include "server/sweep/quantized_models.h"

namespace edgekiln::server {

absl::StatusOr<v1::SweepPlan> ParsePlan(const std::string& bytes) {
  v1::SweepPlan plan;
  if (plan.ParseFromString(bytes)) return plan;
  return absl::InternalError("the plan of the sweep does not parse");
}

namespace {

Task<absl::StatusOr<StoredPlan>> RunStage(StageCall call, SweepBlobs& blobs,
                                          JobContext& stages) {
  const auto planning = stages.Start(std::move(call));
  EK_CO_ASSIGN_OR_RETURN(const v1::StageResult& planned,
                         co_await ResultOf(planning));
  EK_CO_ASSIGN_OR_RETURN(v1::BlobRef plan, Only(planned, "plan"));
  EK_CO_ASSIGN_OR_RETURN(const std::string bytes, blobs.Load(plan.digest()));
  StoredPlan stored;
  EK_CO_ASSIGN_OR_RETURN(stored.plan, ParsePlan(bytes));
  stored.digest = std::move(*plan.mutable_digest());
  co_return stored;
}

}  // namespace

// Which variants there are to be asked about, only a plan tells: the first one
// is made without the answers, and is the last one where there are none.
Task<absl::StatusOr<StoredPlan>> RunPlanStage(const v1::SweepRequest& request,
                                              int64_t max_cells,
                                              SweepBlobs& blobs,
                                              JobContext& stages) {
  StageCall call;
  call.name = "plan_sweep";
  call.options.mutable_plan_sweep()->set_max_cells(max_cells);
  // No maps: one build always gives the same bytes.
  EK_CO_ASSIGN_OR_RETURN(const v1::Digest sweep,
                         blobs.Store(request.SerializeAsString()));
  call.inputs.push_back(As("sweep", sweep));
  for (const v1::SweepGroup& group : request.groups()) {
    for (const v1::SweepTarget& target : group.targets()) {
      if (!target.has_digest()) continue;
      call.inputs.push_back(As("target", target.digest()));
    }
  }
  EK_CO_ASSIGN_OR_RETURN(const v1::SweepGroup quantized,
                         co_await QuantizedModels(request, blobs, stages));
  if (!quantized.models().empty()) {
    EK_CO_ASSIGN_OR_RETURN(const v1::Digest models,
                           blobs.Store(quantized.SerializeAsString()));
    call.inputs.push_back(As("quantized", models));
  }
  EK_CO_ASSIGN_OR_RETURN(StoredPlan stored,
                         co_await RunStage(call, blobs, stages));
  EK_CO_ASSIGN_OR_RETURN(
      const v1::SweepPlan kept,
      co_await KeptModels(request, quantized, stored.plan, blobs, stages));
  if (kept.cells().empty()) co_return stored;
  EK_CO_ASSIGN_OR_RETURN(const v1::Digest answers,
                         blobs.Store(kept.SerializeAsString()));
  call.inputs.push_back(As("kept", answers));
  co_return co_await RunStage(std::move(call), blobs, stages);
}

}  // namespace edgekiln::server
