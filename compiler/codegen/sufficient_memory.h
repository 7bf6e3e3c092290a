#ifndef EK_COMPILER_CODEGEN_SUFFICIENT_MEMORY_H_
#define EK_COMPILER_CODEGEN_SUFFICIENT_MEMORY_H_

#include "absl/status/status.h"
#include "compiler/ir/graph.h"
#include "edgekiln/v1/program.pb.h"
#include "edgekiln/v1/target.pb.h"
#include "edgekiln/v1/tiling.pb.h"

namespace edgekiln::compiler {

// `refusal` is TilePartition()'s of these arguments, or EmitProgram()'s of its
// plans. Where constants and activations share one memory that is too small,
// what a plan needs depends on the memory's size, and constants are packed
// after planning. So the size that suffices is found by compiling for several:
// what the program takes where there is plenty, or twice as much, then less and
// less, until one byte less does not suffice, or 1/256 less where plans have
// more than 256 turns, or 21 have been tried; of large networks as few as
// three. Each takes as long as a compilation. The error's need has the size,
// its fix how many bytes more that is: a target's parameter may count others
// besides, such as the firmware. Other errors, and those for which no size is
// found, are returned as they are.
absl::Status NameSufficientMemory(absl::Status refusal, const Graph& graph,
                                  const v1::Partition& partition,
                                  const v1::Machine& machine,
                                  const v1::TileRecipe& recipe);

// EmitProgram()'s refusal of `plans`, such as that constants and activations
// share one memory that does not hold both. OK, without emitting, where it has
// room for many times the constants, or each has a memory of its own.
absl::Status CheckConstantsFit(const Graph& graph,
                               const v1::Partition& partition,
                               const v1::RegionPlans& plans,
                               const v1::Machine& machine);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_CODEGEN_SUFFICIENT_MEMORY_H_
