#include "base/status_macros.h"
#include "compiler/ir/graph_outline.h"
#include "compiler/passes/float32_form.h"
#include "compiler/passes/pipeline.h"
#include "server/worker/stages/graph_input.h"
#include "server/worker/stages/stages.h"

namespace edgekiln::server {

absl::StatusOr<StageOutput> RunSimplify(const v1::SimplifyOptions&,
                                        const StageInputs& inputs) {
  EK_ASSIGN_OR_RETURN(const auto read, GraphInput(inputs));
  compiler::Graph graph = *read;  // Constants stay shared.
  EK_RETURN_IF_ERROR(compiler::Simplify(graph), "simplifying the model");
  StageOutput output;
  output.Add("graph", compiler::GraphToProto(graph));
  // Also what a model in other floats becomes for a chip.
  if (compiler::HasOtherFloats(graph)) {
    EK_ASSIGN_OR_RETURN(graph, compiler::Float32Form(*read),
                        "simplifying the model");
    output.Add("float32_graph", compiler::GraphToProto(graph));
  }
  // For check_fit, which is not to wait for megabytes of weights.
  output.Add("outline", compiler::OutlineOf(graph));
  return output;
}

}  // namespace edgekiln::server
