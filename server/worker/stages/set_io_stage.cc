#include <string>

#include "base/status_macros.h"
#include "compiler/passes/integer_io.h"
#include "server/worker/stages/graph_input.h"
#include "server/worker/stages/stages.h"

namespace edgekiln::server {

absl::StatusOr<StageOutput> RunSetIo(const v1::SetIoOptions& options,
                                     const StageInputs& inputs) {
  EK_ASSIGN_OR_RETURN(const auto read, GraphInput(inputs));
  compiler::Graph graph = *read;  // Constants stay shared.
  StageOutput output;
  if (!compiler::SetIoForm(options.io(), graph)) {
    // The same bytes: what follows finds its results under the same keys.
    EK_ASSIGN_OR_RETURN(const absl::string_view same, inputs.One("graph"));
    output.Add("graph", std::string(same));
    return output;
  }
  EK_RETURN_IF_ERROR(compiler::VerifyGraph(graph), "inputs and outputs");
  output.Add("graph", compiler::GraphToProto(graph));
  return output;
}

}  // namespace edgekiln::server
