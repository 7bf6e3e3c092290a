#include "base/status_macros.h"
#include "compiler/codegen/compile.h"
#include "edgekiln/v1/program.pb.h"
#include "edgekiln/v1/target.pb.h"
#include "edgekiln/v1/tiling.pb.h"
#include "server/worker/stages/stages.h"

namespace edgekiln::server {

absl::StatusOr<StageOutput> RunTile(const v1::TileOptions& options,
                                    const StageInputs& inputs) {
  EK_RETURN_IF_ERROR(inputs.Fetch({"partition", "machine"}));
  EK_ASSIGN_OR_RETURN(const auto partition,
                      inputs.ParseLarge<v1::Partition>("partition"));
  EK_ASSIGN_OR_RETURN(const v1::Machine machine,
                      inputs.Parse<v1::Machine>("machine"));
  EK_ASSIGN_OR_RETURN(
      const v1::RegionPlans plan,
      compiler::TilePartition(*partition, machine, options.recipe()), "tiling");
  StageOutput output;
  output.Add("tiling", plan);
  return output;
}

}  // namespace edgekiln::server
