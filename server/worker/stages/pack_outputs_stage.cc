#include <string>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "compiler/dataset/pack.h"
#include "server/worker/stages/stages.h"

namespace edgekiln::server {

absl::StatusOr<StageOutput> RunPackOutputs(
    const v1::PackOutputsOptions& options, const StageInputs& inputs) {
  EK_ASSIGN_OR_RETURN(const std::vector<v1::Chunk> chunks,
                      inputs.ParseAll<v1::Chunk>("chunk"));
  EK_ASSIGN_OR_RETURN(const v1::Graph graph, inputs.Parse<v1::Graph>("graph"));
  EK_ASSIGN_OR_RETURN(const compiler::OutputConversions outputs,
                      compiler::OutputConversionsOf(graph));
  EK_ASSIGN_OR_RETURN(std::string npz,
                      compiler::PackOutputs(options, chunks, outputs));
  StageOutput output;
  output.Add("npz", std::move(npz));
  return output;
}

}  // namespace edgekiln::server
