#ifndef EK_COMPILER_CODEGEN_RESIDENCY_H_
#define EK_COMPILER_CODEGEN_RESIDENCY_H_

// Which tensors stay in a memory of engines that the host drives, from the op
// that makes them to the last one that reads them.

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/engines/backend.h"
#include "compiler/ir/graph.h"
#include "edgekiln/v1/target.pb.h"
#include "edgekiln/v1/tiling.pb.h"

namespace edgekiln::compiler {

// An op that an engine driven by the host runs: a region of its own.
struct DrivenOp {
  int32_t op = 0;
  int32_t engine = 0;
};

// Plans each of `ops`, in order of execution, with as many bytes of each memory
// as `memory_bytes` says, so that all that is alive at one op fits, as far as
// bytes tell: addresses may need more. Tensors stay where that costs the fewest
// predicted cycles that were found: first all that can, then without those that
// have no room, longest-lived first; then without each of the others in turn,
// for as long as that gains. Borders that do not stay lie densely in `ram`.
// Errors are those of the back ends.
absl::StatusOr<std::vector<v1::RegionPlan>> PlanDrivenOps(
    const Graph& graph, const std::vector<DrivenOp>& ops,
    const v1::Machine& machine, const v1::TileRecipe& recipe,
    const std::vector<int64_t>& memory_bytes, int32_t ram);

// What `recipe` has for that engine of the machine; empty if nothing.
google::protobuf::Any DecisionsFor(const v1::TileRecipe& recipe,
                                   int32_t engine);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_CODEGEN_RESIDENCY_H_
