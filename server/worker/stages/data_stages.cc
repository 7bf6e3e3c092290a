// Data sets in, results out.

#include <algorithm>
#include <utility>

#include "base/status_macros.h"
#include "compiler/dataset/convert.h"
#include "compiler/dataset/pack.h"
#include "compiler/dataset/synthesize.h"
#include "server/worker/stages/stages.h"

namespace edgekiln::server {
namespace {

// Graphs between stages were verified by the stage that made them; the indices
// are checked because nothing here does it anew.
absl::StatusOr<compiler::ModelInputs> InputsOfGraph(const StageInputs& inputs) {
  EK_ASSIGN_OR_RETURN(const v1::Graph graph, inputs.Parse<v1::Graph>("graph"));
  const auto is_tensor = [&](int32_t index) {
    return index >= 0 && index < graph.tensors_size();
  };
  if (!std::all_of(graph.inputs().begin(), graph.inputs().end(), is_tensor)) {
    return absl::InternalError("graph with inputs that are no tensors");
  }
  return compiler::InputsOf(graph);
}

void AddChunks(const std::vector<v1::Chunk>& chunks, StageOutput& output) {
  for (const v1::Chunk& chunk : chunks) output.Add("chunk", chunk);
}

}  // namespace

absl::StatusOr<StageOutput> RunConvertData(
    const v1::ConvertDataOptions& options, const StageInputs& inputs) {
  EK_ASSIGN_OR_RETURN(const compiler::ModelInputs model, InputsOfGraph(inputs));
  EK_ASSIGN_OR_RETURN(
      const compiler::ConvertedData data,
      compiler::ConvertDataSet(options, inputs.All("data"), model));
  StageOutput output;
  AddChunks(data.chunks, output);
  if (data.labels) output.Add("labels", *data.labels);
  v1::StageSummary::Data& summary = *output.summary.mutable_data();
  summary.set_samples(data.samples);
  summary.set_labelled(data.labelled);
  return output;
}

absl::StatusOr<StageOutput> RunSynthesizeData(
    const v1::SynthesizeDataOptions& options, const StageInputs& inputs) {
  EK_ASSIGN_OR_RETURN(const compiler::ModelInputs model, InputsOfGraph(inputs));
  EK_ASSIGN_OR_RETURN(const std::vector<v1::Chunk> chunks,
                      compiler::SynthesizeData(options, model.types));
  StageOutput output;
  AddChunks(chunks, output);
  output.summary.mutable_data()->set_samples(options.samples());
  return output;
}

absl::StatusOr<StageOutput> RunPackOutputs(
    const v1::PackOutputsOptions& options, const StageInputs& inputs) {
  EK_ASSIGN_OR_RETURN(const std::vector<v1::Chunk> chunks,
                      inputs.ParseAll<v1::Chunk>("chunk"));
  EK_ASSIGN_OR_RETURN(std::string npz, compiler::PackOutputs(options, chunks));
  StageOutput output;
  output.Add("npz", std::move(npz));
  return output;
}

}  // namespace edgekiln::server
