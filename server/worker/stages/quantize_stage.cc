#include "base/status_macros.h"
#include "compiler/quantize/quantize.h"
#include "server/worker/stages/graph_input.h"
#include "server/worker/stages/stages.h"

namespace edgekiln::server {

absl::StatusOr<StageOutput> RunQuantize(const v1::QuantizeOptions& options,
                                        const StageInputs& inputs) {
  EK_ASSIGN_OR_RETURN(const auto read, GraphInput(inputs));
  const compiler::Graph& graph = *read;
  EK_ASSIGN_OR_RETURN(const v1::CalibrationStatistics statistics,
                      inputs.Parse<v1::CalibrationStatistics>("statistics"));
  EK_ASSIGN_OR_RETURN(
      const compiler::Graph quantized,
      compiler::QuantizeGraph(graph, statistics, options.needs()),
      "quantizing");
  StageOutput output;
  output.Add("graph", compiler::GraphToProto(quantized));
  return output;
}

}  // namespace edgekiln::server
