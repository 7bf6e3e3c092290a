#include "base/status_macros.h"
#include "edgekiln/v1/target.pb.h"
#include "server/worker/stages/graph_input.h"
#include "server/worker/stages/stages.h"

namespace edgekiln::server {

absl::StatusOr<StageOutput> RunCheckFit(const v1::CheckFitOptions&,
                                        const StageInputs& inputs) {
  EK_RETURN_IF_ERROR(GraphInput(inputs).status());
  EK_RETURN_IF_ERROR(inputs.Parse<v1::Machine>("machine").status());
  return StageOutput();
}

}  // namespace edgekiln::server
