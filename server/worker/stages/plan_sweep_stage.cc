#include <vector>

#include "base/status_macros.h"
#include "edgekiln/v1/sweep.pb.h"
#include "server/sweep/plan_sweep.h"
#include "server/worker/stages/stages.h"

namespace edgekiln::server {

absl::StatusOr<StageOutput> RunPlanSweep(const v1::PlanSweepOptions& options,
                                         const StageInputs& inputs) {
  EK_ASSIGN_OR_RETURN(const v1::SweepRequest request,
                      inputs.Parse<v1::SweepRequest>("sweep"));
  EK_ASSIGN_OR_RETURN(const std::vector<absl::string_view> files,
                      inputs.All("target"));
  EK_ASSIGN_OR_RETURN(const v1::SweepPlan plan,
                      PlanSweep(request, files, options.max_cells()),
                      "planning the sweep");
  StageOutput output;
  output.Add("plan", plan);
  return output;
}

}  // namespace edgekiln::server
