#include "base/status_macros.h"
#include "compiler/partition/partition.h"
#include "edgekiln/v1/program.pb.h"
#include "edgekiln/v1/target.pb.h"
#include "server/worker/stages/graph_input.h"
#include "server/worker/stages/stages.h"

namespace edgekiln::server {

absl::StatusOr<StageOutput> RunPartition(const v1::PartitionOptions&,
                                         const StageInputs& inputs) {
  EK_ASSIGN_OR_RETURN(const auto read, GraphInput(inputs));
  const compiler::Graph& graph = *read;
  EK_ASSIGN_OR_RETURN(const v1::Capabilities capabilities,
                      inputs.Parse<v1::Capabilities>("capabilities"));
  EK_ASSIGN_OR_RETURN(const v1::Partition partition,
                      compiler::PartitionGraph(graph, capabilities),
                      "placing layers");
  StageOutput output;
  output.Add("partition", partition);
  return output;
}

}  // namespace edgekiln::server
