#ifndef EK_COMPILER_PASSES_OP_COST_H_
#define EK_COMPILER_PASSES_OP_COST_H_

#include <cstdint>

#include "compiler/ir/graph.h"

// What computing constants during compilation costs: a small model must not
// become long work or large memory.
namespace edgekiln::compiler {

// Whether an op touches each element of its inputs and outputs a few times at
// most. False where windows, rows or time steps multiply the work.
bool WorkIsLinear(const v1::OpAttributes& op);

// Bytes of all constants; what several share counts once.
int64_t ConstantBytes(const Graph& graph);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_PASSES_OP_COST_H_
