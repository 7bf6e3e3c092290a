#ifndef EK_COMPILER_CODEGEN_PLAN_CHIP_H_
#define EK_COMPILER_CODEGEN_PLAN_CHIP_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "compiler/ir/graph.h"
#include "edgekiln/v1/program.pb.h"
#include "edgekiln/v1/target.pb.h"
#include "edgekiln/v1/tiling.pb.h"

namespace edgekiln::compiler {

// Whether the host drives an engine that the partition uses. INVALID_ARGUMENT
// if one has no back end.
absl::StatusOr<bool> IsDriven(const v1::Partition& partition,
                              const v1::Machine& machine);

// Plans a network on engines that the host drives: how each op is computed, the
// order of all that the host does, and the room of every buffer. Tried are
// several shares of each memory, for addresses may need more than bytes do,
// with several orders each; of those that fit, the one with the fewest
// predicted cycles is taken. RESOURCE_EXHAUSTED if none fits, naming layer and
// smallest sufficient memory.
absl::StatusOr<v1::RegionPlans> PlanChip(const Graph& graph,
                                         const v1::Partition& partition,
                                         const v1::Machine& machine,
                                         const v1::TileRecipe& recipe,
                                         int32_t ram);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_CODEGEN_PLAN_CHIP_H_
