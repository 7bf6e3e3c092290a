#ifndef EK_COMPILER_CODEGEN_C_COPIED_OUTPUTS_H_
#define EK_COMPILER_CODEGEN_C_COPIED_OUTPUTS_H_

#include <cstdint>

#include "compiler/ir/graph.h"

// Outputs of a network that are constants or states: they are copied behind the
// plan of the arena, so that they keep their values until the next invocation.
namespace edgekiln::compiler {

bool IsCopiedOutput(const Graph& graph, TensorId output);

// What a copy takes in the arena.
int64_t CopyBytesOf(const Tensor& tensor);

// What all copies take.
int64_t CopiedOutputBytes(const Graph& graph);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_CODEGEN_C_COPIED_OUTPUTS_H_
