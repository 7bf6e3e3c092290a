#ifndef EK_COMPILER_QUANTIZE_REAL_PORTS_H_
#define EK_COMPILER_QUANTIZE_REAL_PORTS_H_

#include "compiler/ir/graph.h"

namespace edgekiln::compiler {

// The same network with FLOAT32 for integers at inputs and outputs: each port
// keeps its name and gets a Quantize or Dequantize of its own; the tensor of
// the integers is called "<name>.int".
Graph WithRealPorts(const Graph& graph);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_QUANTIZE_REAL_PORTS_H_
