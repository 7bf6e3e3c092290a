#include <utility>

#include "base/status_macros.h"
#include "compiler/codegen/placement.h"
#include "compiler/partition/partition.h"
#include "edgekiln/v1/program.pb.h"
#include "edgekiln/v1/target.pb.h"
#include "server/worker/stages/stages.h"

namespace edgekiln::server {

absl::StatusOr<StageOutput> RunPlace(const v1::PlaceOptions& options,
                                     const StageInputs& inputs) {
  EK_ASSIGN_OR_RETURN(const auto partition,
                      inputs.ParseLarge<v1::Partition>("partition"));
  EK_ASSIGN_OR_RETURN(v1::Capabilities of_target,
                      inputs.Parse<v1::Capabilities>("capabilities"));
  EK_ASSIGN_OR_RETURN(
      const v1::Capabilities capabilities,
      compiler::InOrderOf(options.recipe(), std::move(of_target)));
  EK_ASSIGN_OR_RETURN(const v1::Machine machine,
                      inputs.Parse<v1::Machine>("machine"));
  EK_ASSIGN_OR_RETURN(const v1::Partition placed,
                      compiler::PlaceByCycles(*partition, capabilities, machine,
                                              options.offload()),
                      "placing layers by cycles");
  StageOutput output;
  output.Add("partition", placed);
  return output;
}

}  // namespace edgekiln::server
