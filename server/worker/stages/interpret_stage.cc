#include <string>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "compiler/ir/interpreter.h"
#include "server/worker/stages/graph_input.h"
#include "server/worker/stages/samples.h"
#include "server/worker/stages/stages.h"

namespace edgekiln::server {

absl::StatusOr<StageOutput> RunInterpret(const v1::InterpretOptions&,
                                         const StageInputs& inputs,
                                         const ProgressSink& progress) {
  EK_ASSIGN_OR_RETURN(const auto read, GraphInput(inputs));
  const compiler::Graph& graph = *read;
  const std::vector<v1::TensorType> in = TypesOf(graph, graph.inputs);
  const std::vector<v1::TensorType> out = TypesOf(graph, graph.outputs);
  EK_ASSIGN_OR_RETURN(const ChunkReader chunk, ChunkReader::Create(inputs, in));
  EK_ASSIGN_OR_RETURN(AccuracyCounter accuracy,
                      AccuracyCounter::Create(inputs, in, out, chunk));
  EK_ASSIGN_OR_RETURN(
      const auto interpreter,
      ReferenceOf(inputs, graph, compiler::InterpreterOptions::Keep::kOutputs),
      "preparing the reference");
  ChunkWriter writer(out, chunk.first_sample());
  v1::StageProgress state;
  state.set_total(chunk.samples());
  state.set_unit("samples");
  for (int64_t i = 0; i < chunk.samples(); ++i) {
    EK_RETURN_IF_ERROR(interpreter->Run(chunk.Sample(i)),
                       "running the reference");
    std::vector<absl::string_view> values;
    for (const compiler::TensorId output : graph.outputs) {
      values.push_back(interpreter->value(output));
    }
    if (!values.empty()) accuracy.Count(i, values[0]);
    writer.Append(values);
    state.set_done(i + 1);
    progress(state);
  }
  StageOutput output;
  output.Add("chunk", writer.chunk());
  v1::StageSummary::Samples& summary = *output.summary.mutable_samples();
  summary.set_samples(chunk.samples());
  accuracy.AddTo(summary);
  for (std::string& warning : accuracy.Warnings()) {
    output.warnings.push_back(std::move(warning));
  }
  return output;
}

}  // namespace edgekiln::server
