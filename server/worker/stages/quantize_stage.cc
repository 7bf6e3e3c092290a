#include <vector>

#include "base/status_macros.h"
#include "compiler/quantize/input_rows.h"
#include "compiler/quantize/quantize.h"
#include "server/worker/stages/graph_input.h"
#include "server/worker/stages/stages.h"

namespace edgekiln::server {

absl::StatusOr<StageOutput> RunQuantize(const v1::QuantizeOptions& options,
                                        const StageInputs& inputs,
                                        const ProgressSink& progress) {
  EK_ASSIGN_OR_RETURN(const auto read, GraphInput(inputs));
  const compiler::Graph& graph = *read;
  EK_ASSIGN_OR_RETURN(const v1::CalibrationStatistics statistics,
                      inputs.Parse<v1::CalibrationStatistics>("statistics"));
  EK_ASSIGN_OR_RETURN(const std::vector<v1::Chunk> samples,
                      inputs.ParseAll<v1::Chunk>("chunk"));
  EK_ASSIGN_OR_RETURN(compiler::QuantizedNetwork quantized,
                      compiler::Quantize(graph, options,
                                         {.statistics = statistics,
                                          .samples = samples,
                                          .progress =
                                              [&](int64_t done, int64_t total) {
                                                v1::StageProgress state;
                                                state.set_done(done);
                                                state.set_total(total);
                                                state.set_unit("layers");
                                                progress(state);
                                              }}),
                      "quantizing");
  compiler::AddInputRows(graph, quantized.graph, statistics, quantized.report);
  StageOutput output;
  if (options.rank()) {
    *output.summary.mutable_quantization() = quantized.report;
  }
  output.Add("graph", compiler::GraphToProto(quantized.graph));
  output.Add("quantization", quantized.report);
  return output;
}

}  // namespace edgekiln::server
