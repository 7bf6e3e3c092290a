#ifndef EK_COMPILER_CODEGEN_LAYER_ROWS_H_
#define EK_COMPILER_CODEGEN_LAYER_ROWS_H_

#include "compiler/ir/graph.h"
#include "edgekiln/v1/program.pb.h"

namespace edgekiln::compiler {

// Adds the row of `op` to program->layers: id, name, op, kind and MACs.
v1::Program::Layer& AddLayerRow(const Graph& graph, const Op& op,
                                v1::Program* program);

// Program.carries, as graph.states.
void AddCarries(const Graph& graph, v1::Program* program);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_CODEGEN_LAYER_ROWS_H_
