#include "server/worker/stages/stages.h"
namespace edgekiln::server {
absl::StatusOr<StageOutput> RunCountCycles(const v1::CountCyclesOptions&,
                                           const StageInputs&) {
  return absl::InternalError("count_cycles: not linked yet");
}
absl::StatusOr<StageOutput> RunSimulate(const v1::SimulateOptions&,
                                        const StageInputs&,
                                        const ProgressSink&) {
  return absl::InternalError("simulate: not linked yet");
}
}  // namespace edgekiln::server
