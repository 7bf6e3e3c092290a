#ifndef EK_COMPILER_CODEGEN_WALL_CYCLES_H_
#define EK_COMPILER_CODEGEN_WALL_CYCLES_H_

// Predictions in cycles of the machine's wall clock.

#include <cstdint>

#include "absl/status/statusor.h"
#include "compiler/ir/graph.h"
#include "edgekiln/v1/graph.pb.h"
#include "edgekiln/v1/target.pb.h"

namespace edgekiln::compiler {

// A tensor as programs describe it.
v1::TensorType TypeOf(const Tensor& tensor);

// `cycles` of a clock of `clock_hz`, rounded up.
int64_t WallCycles(int64_t cycles, int64_t clock_hz,
                   const v1::Machine& machine);

// Of an op that the host runs; 0 for a reshape, which moves nothing.
// OUT_OF_RANGE on overflow.
absl::StatusOr<int64_t> HostOpCycles(const Graph& graph, const Op& op,
                                     const v1::Machine& machine);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_CODEGEN_WALL_CYCLES_H_
