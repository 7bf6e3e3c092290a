#ifndef EK_COMPILER_CODEGEN_ACCUMULATORS_H_
#define EK_COMPILER_CODEGEN_ACCUMULATORS_H_

#include "compiler/ir/graph.h"
#include "edgekiln/v1/program.pb.h"

namespace edgekiln::compiler {

// Fills program->accumulators: what every Requantize of the graph reads, and
// every Clip that an op's limits were split off to (passes/split_clamp.h).
void AddAccumulators(const Graph& graph, v1::Program* program);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_CODEGEN_ACCUMULATORS_H_
