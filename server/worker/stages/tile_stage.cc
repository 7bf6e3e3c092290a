#include "base/status_macros.h"
#include "compiler/codegen/compile.h"
#include "edgekiln/v1/target.pb.h"
#include "edgekiln/v1/tiling.pb.h"
#include "server/worker/stages/partition_input.h"
#include "server/worker/stages/stages.h"

namespace edgekiln::server {

absl::StatusOr<StageOutput> RunTile(const v1::TileOptions& options,
                                    const StageInputs& inputs) {
  EK_ASSIGN_OR_RETURN(const auto read,
                      ReadPartitionInput(inputs, {"partition", "machine"}));
  EK_ASSIGN_OR_RETURN(const auto machine,
                      inputs.ParseOnce<v1::Machine>("machine"));
  EK_ASSIGN_OR_RETURN(const v1::RegionPlans plan,
                      compiler::TilePartition(read->graph, read->partition,
                                              *machine, options.recipe()),
                      "tiling");
  StageOutput output;
  output.Add("tiling", plan);
  return output;
}

}  // namespace edgekiln::server
