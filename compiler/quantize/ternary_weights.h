#ifndef EK_COMPILER_QUANTIZE_TERNARY_WEIGHTS_H_
#define EK_COMPILER_QUANTIZE_TERNARY_WEIGHTS_H_

#include "compiler/ir/graph.h"

namespace edgekiln::compiler {

// Whether the op of a float graph has constant weights -s, 0 and s for one s,
// not all 0: as networks have that were trained for ternary ones.
bool HasTernaryWeights(const Graph& graph, const Op& op);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_QUANTIZE_TERNARY_WEIGHTS_H_
