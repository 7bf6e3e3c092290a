#ifndef EK_COMPILER_CODEGEN_SUFFICIENT_MEMORY_H_
#define EK_COMPILER_CODEGEN_SUFFICIENT_MEMORY_H_

#include "absl/status/status.h"
#include "compiler/ir/graph.h"
#include "edgekiln/v1/target.pb.h"
#include "edgekiln/v1/tiling.pb.h"

namespace edgekiln::compiler {

// `refusal` is TilePartition()'s of these arguments. Where constants and
// activations share one memory that is too small, what a plan needs depends on
// the memory's size, and constants are packed after planning. So the size that
// suffices is found by compiling for several: what the program takes where
// there is plenty, or twice as much, then halfway between that and what was
// refused, to a 64th of the size. The network is compiled nine times at most,
// large ones three times. The error's need has the size, its fix how many bytes
// more that is: a target's parameter may count others besides, such as the
// firmware. Other errors, and those for which no size is found, are returned as
// they are.
absl::Status NameSufficientMemory(absl::Status refusal, const Graph& graph,
                                  const v1::Partition& partition,
                                  const v1::Machine& machine,
                                  const v1::TileRecipe& recipe);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_CODEGEN_SUFFICIENT_MEMORY_H_
