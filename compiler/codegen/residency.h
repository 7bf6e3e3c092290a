#ifndef EK_COMPILER_CODEGEN_RESIDENCY_H_
#define EK_COMPILER_CODEGEN_RESIDENCY_H_

// Which tensors stay in a memory of engines that the host drives, from the op
// that makes them to the last one that reads them.

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/codegen/machine_backends.h"
#include "compiler/codegen/memory_map.h"
#include "compiler/codegen/plan_cache.h"
#include "compiler/codegen/resident_candidates.h"
#include "compiler/codegen/views.h"
#include "compiler/ir/graph.h"
#include "edgekiln/v1/program.pb.h"
#include "edgekiln/v1/target.pb.h"
#include "edgekiln/v1/tiling.pb.h"

namespace edgekiln::compiler {

// Plans each of `ops`, in order of execution, within `memory_bytes` of each
// memory. Checks that the bytes alive at each op fit, not that addresses can be
// found for them. A greedy search decides which tensors stay: it starts with
// all that can, drops those without room, longest-lived first, then tries the
// layouts of other users and dropping each tensor in turn while predicted
// cycles fall. An output is written over an input where the engine allows that
// and nobody reads the input later. Places that do not stay lie in `ram`, or
// where `ram_of` (may be null) says: densely, unless the host's code would have
// to rearrange them. With `round_trips` of the recipe none stays. Errors are
// those of the back ends. `backends` and `cache` are of this machine, the
// latter of this graph and recipe, too.
absl::StatusOr<std::vector<v1::RegionPlan>> PlanDrivenOps(
    const Graph& graph, const Views& views, const v1::Partition& partition,
    const std::vector<DrivenOp>& ops, const v1::Machine& machine,
    MachineBackends& backends, const v1::TileRecipe& recipe,
    const std::vector<int64_t>& memory_bytes, int32_t ram,
    const RamOfTensor* ram_of, PlanCache& cache);

// The decisions that `recipe` has for the engine at that position of the
// machine; empty if it has none.
google::protobuf::Any DecisionsFor(const v1::TileRecipe& recipe,
                                   int32_t engine);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_CODEGEN_RESIDENCY_H_
