#include "server/worker/stages/data_io.h"

#include <algorithm>

#include "base/checked_math.h"
#include "base/status_macros.h"
#include "server/worker/stages/class_scores.h"

namespace edgekiln::server {

absl::StatusOr<compiler::ModelInputs> ModelInputsOf(const StageInputs& inputs) {
  EK_ASSIGN_OR_RETURN(const v1::Graph graph, inputs.Parse<v1::Graph>("graph"));
  // The stage that made the graph has verified it; what is used as an index
  // here is checked all the same.
  const auto is_tensor = [&](int32_t index) {
    return index >= 0 && index < graph.tensors_size();
  };
  if (!std::all_of(graph.inputs().begin(), graph.inputs().end(), is_tensor)) {
    return absl::InternalError("graph with inputs that are no tensors");
  }
  compiler::ModelInputs model = compiler::InputsOf(graph);
  EK_ASSIGN_OR_RETURN(model.conversions, compiler::InputConversionsOf(graph));
  return model;
}

absl::Status AddFormTo(const StageInputs& inputs,
                       v1::StageSummary::Data& summary) {
  EK_ASSIGN_OR_RETURN(const v1::Graph graph, inputs.Parse<v1::Graph>("graph"));
  std::vector<v1::TensorType> in;
  for (const int32_t input : graph.inputs()) {
    in.push_back(graph.tensors(input).type());
  }
  std::vector<v1::TensorType> out;
  for (const int32_t output : graph.outputs()) {
    if (output < 0 || output >= graph.tensors_size()) {
      return absl::InternalError("graph with outputs that are no tensors");
    }
    out.push_back(graph.tensors(output).type());
  }
  summary.set_classes(ClassesOf(in, out, summary.labelled() > 0));
  summary.set_reconstructs(Reconstructs(in, out));
  return absl::OkStatus();
}

absl::Status CheckSampleBytes(const StageInputs& inputs,
                              std::optional<int64_t> bytes) {
  // What is not known to be large is left to those who know why.
  if (!bytes) return absl::OkStatus();
  // The samples, and the message that takes them to the worker.
  return inputs.CheckMemory(CheckedMul(*bytes, 2),
                            "samples for the model's inputs");
}

bool AreSequential(const std::vector<v1::Chunk>& chunks) {
  return !chunks.empty() &&
         std::any_of(chunks[0].arrays().begin(), chunks[0].arrays().end(),
                     [](const v1::Chunk::Array& a) { return a.carried(); });
}

void AddChunks(const std::vector<v1::Chunk>& chunks, StageOutput& output) {
  for (const v1::Chunk& chunk : chunks) output.Add("chunk", chunk);
}

}  // namespace edgekiln::server
