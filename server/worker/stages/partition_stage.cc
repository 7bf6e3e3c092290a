#include <algorithm>
#include <utility>

#include "base/status_macros.h"
#include "compiler/partition/op_forms.h"
#include "compiler/partition/partition.h"
#include "edgekiln/v1/program.pb.h"
#include "edgekiln/v1/target.pb.h"
#include "server/worker/stages/graph_input.h"
#include "server/worker/stages/stages.h"

namespace edgekiln::server {
namespace {

// Whether some op of the partition has more than one form (op_forms.h).
absl::StatusOr<bool> EnginesToChoose(const v1::Partition& partition,
                                     const v1::Capabilities& capabilities) {
  if (capabilities.engines_size() < 2) return false;
  EK_ASSIGN_OR_RETURN(const compiler::OpForms forms,
                      compiler::OpFormsOf(partition, capabilities));
  return std::any_of(forms.choices.begin(), forms.choices.end(),
                     [](const auto& choices) { return choices.size() > 1; });
}

}  // namespace

absl::StatusOr<StageOutput> RunPartition(const v1::PartitionOptions& options,
                                         const StageInputs& inputs) {
  EK_ASSIGN_OR_RETURN(const auto read, GraphInput(inputs));
  const compiler::Graph& graph = *read;
  EK_ASSIGN_OR_RETURN(v1::Capabilities of_target,
                      inputs.Parse<v1::Capabilities>("capabilities"));
  EK_ASSIGN_OR_RETURN(
      const v1::Capabilities capabilities,
      compiler::InOrderOf(options.recipe(), std::move(of_target)));
  const bool none = options.offload() == v1::NONE;
  EK_ASSIGN_OR_RETURN(const v1::Partition partition,
                      none ? compiler::PartitionOnHost(graph)
                           : compiler::PartitionGraph(graph, capabilities),
                      "placing layers");
  StageOutput output;
  output.Add("partition", partition);
  if (none) return output;
  EK_ASSIGN_OR_RETURN(const bool engines,
                      EnginesToChoose(partition, capabilities));
  output.summary.mutable_partition()->set_engines_to_choose(engines);
  return output;
}

}  // namespace edgekiln::server
