#include "server/sweep/plan_sweep.h"

namespace edgekiln::server {

absl::StatusOr<v1::SweepPlan> PlanSweep(const v1::SweepRequest&,
                                        absl::Span<const absl::string_view>,
                                        int64_t) {
  return absl::UnimplementedError("sweeps");
}

}  // namespace edgekiln::server
