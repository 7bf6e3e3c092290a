#include "base/status_macros.h"
#include "server/worker/stages/graph_input.h"
#include "server/worker/stages/stages.h"

namespace edgekiln::server {

absl::StatusOr<StageOutput> RunSetIo(const v1::SetIoOptions&,
                                     const StageInputs& inputs) {
  EK_ASSIGN_OR_RETURN(const auto read, GraphInput(inputs));
  StageOutput output;
  output.Add("graph", compiler::GraphToProto(*read));
  return output;
}

}  // namespace edgekiln::server
