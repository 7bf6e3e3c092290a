#ifndef EK_COMPILER_CODEGEN_PLAN_CHIP_H_
#define EK_COMPILER_CODEGEN_PLAN_CHIP_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/codegen/machine_backends.h"
#include "compiler/ir/graph.h"
#include "edgekiln/v1/program.pb.h"
#include "edgekiln/v1/target.pb.h"
#include "edgekiln/v1/tiling.pb.h"

namespace edgekiln::compiler {

// Whether the host drives an engine that the partition uses. INVALID_ARGUMENT
// if one has no back end.
absl::StatusOr<bool> IsDriven(const v1::Partition& partition,
                              const v1::Machine& machine);

// Whether the host drives any engine of the machine.
bool HasDrivenEngine(const v1::Machine& machine);

struct ChipPlan {
  v1::RegionPlans plans;
  int64_t cycles = 0;  // Predicted, of the wall clock.
};

// Plans a network on engines that the host drives: how each op is computed, the
// order of the host's steps, and the address of every buffer. Tries several
// shares of each memory (fragmentation may need more than the sum of bytes),
// several orders for each, with and without transposes folded into moves and
// outputs written over inputs. Of the plans that fit, takes the one with the
// fewest predicted cycles. Tensors in system memory lie in `rams`, planned over
// the same order. RESOURCE_EXHAUSTED if none fits, naming layer and smallest
// sufficient memory. `backends`, of the machine, changes speed only.
absl::StatusOr<ChipPlan> PlanChip(const Graph& graph,
                                  const v1::Partition& partition,
                                  const v1::Machine& machine,
                                  const v1::TileRecipe& recipe,
                                  const std::vector<int32_t>& rams,
                                  MachineBackends& backends);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_CODEGEN_PLAN_CHIP_H_
