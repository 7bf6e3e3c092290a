#include <utility>

#include "base/status_macros.h"
#include "compiler/codegen/compile.h"
#include "compiler/codegen/sufficient_memory.h"
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
  auto planned = compiler::TilePartition(read->graph, read->partition, *machine,
                                         options.recipe());
  absl::Status refusal = planned.status();
  if (refusal.ok()) {
    refusal = compiler::CheckConstantsFit(read->graph, read->partition,
                                          *planned, *machine);
  }
  if (!refusal.ok()) {
    planned = compiler::NameSufficientMemory(std::move(refusal), read->graph,
                                             read->partition, *machine,
                                             options.recipe());
  }
  EK_ASSIGN_OR_RETURN(const v1::RegionPlans plan, std::move(planned), "tiling");
  StageOutput output;
  output.Add("tiling", plan);
  return output;
}

}  // namespace edgekiln::server
