#ifndef EK_COMPILER_CODEGEN_IO_COST_H_
#define EK_COMPILER_CODEGEN_IO_COST_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "compiler/ir/graph.h"
#include "edgekiln/v1/target.pb.h"

namespace edgekiln::compiler {

// What converting at the graph's inputs and outputs costs the host with
// IO_FLOAT, in cycles of Machine.clock_hz, whichever form the graph has. Host
// and engines take turns, so that the cycles of the two forms of a network
// differ by exactly this.
absl::StatusOr<int64_t> IoConversionCycles(Graph graph,
                                           const v1::Machine& machine);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_CODEGEN_IO_COST_H_
