#include <string>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "compiler/ir/interpreter.h"
#include "server/worker/stages/chunk_states.h"
#include "server/worker/stages/graph_input.h"
#include "server/worker/stages/samples.h"
#include "server/worker/stages/stages.h"
#include "server/worker/stages/tensor_digests.h"

namespace edgekiln::server {

absl::StatusOr<StageOutput> RunInterpret(const v1::InterpretOptions& options,
                                         const StageInputs& inputs,
                                         const ProgressSink& progress) {
  EK_ASSIGN_OR_RETURN(const auto read, GraphInput(inputs));
  const compiler::Graph& graph = *read;
  const std::vector<v1::TensorType> in = TypesOf(graph, graph.inputs);
  const std::vector<v1::TensorType> out = TypesOf(graph, graph.outputs);
  EK_ASSIGN_OR_RETURN(const ChunkReader chunk, ChunkReader::Create(inputs, in));
  EK_ASSIGN_OR_RETURN(AccuracyCounter accuracy,
                      AccuracyCounter::Create(inputs, in, out, chunk));
  using Keep = compiler::InterpreterOptions::Keep;
  const bool digests = options.digest_tensors();
  EK_ASSIGN_OR_RETURN(
      const auto interpreter,
      ReferenceOf(inputs, graph, digests ? Keep::kAllTensors : Keep::kOutputs),
      "preparing the reference");
  EK_ASSIGN_OR_RETURN(ChunkStates states,
                      StatesBefore(inputs, graph, chunk, /*with_chip=*/false));
  EK_RETURN_IF_ERROR(interpreter->SetStates(std::move(states.reference)),
                     "states of the chunk before");
  TensorDigestWriter digest_writer(graph);
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
    if (digests) digest_writer.Append(*interpreter);
    state.set_done(i + 1);
    progress(state);
  }
  StageOutput output;
  output.Add("chunk", writer.chunk());
  if (digests) output.Add("digests", digest_writer.Take());
  AddStates(chunk, {.reference = interpreter->states(), .chip = {}}, output);
  v1::StageSummary::Samples& summary = *output.summary.mutable_samples();
  summary.set_samples(chunk.samples());
  accuracy.AddTo(summary);
  accuracy.AddLabelsTo(summary);
  for (std::string& warning : accuracy.Warnings()) {
    output.warnings.push_back(std::move(warning));
  }
  return output;
}

}  // namespace edgekiln::server
