#ifndef EK_COMPILER_IR_SHAPES_H_
#define EK_COMPILER_IR_SHAPES_H_

#include <vector>

#include "compiler/ir/graph.h"
#include "target/macs.h"

namespace edgekiln::compiler {

// Of the tensors, in their order; empty for kNoTensor. The graph must outlive
// them.
std::vector<target::ShapeSpan> ShapesOf(const Graph& graph,
                                        const std::vector<TensorId>& tensors);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_IR_SHAPES_H_
