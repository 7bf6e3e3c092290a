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
  v1::SweepGroup quantized;
  if (inputs.Has("quantized")) {
    EK_ASSIGN_OR_RETURN(quantized, inputs.Parse<v1::SweepGroup>("quantized"));
  }
  v1::SweepPlan kept;
  if (inputs.Has("kept")) {
    EK_ASSIGN_OR_RETURN(kept, inputs.Parse<v1::SweepPlan>("kept"));
  }
  EK_ASSIGN_OR_RETURN(
      const v1::SweepPlan plan,
      PlanSweep(request, files, options.max_cells(), quantized, kept),
      "planning the sweep");
  StageOutput output;
  output.Add("plan", plan);
  return output;
}

}  // namespace edgekiln::server
