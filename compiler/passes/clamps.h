#ifndef EK_COMPILER_PASSES_CLAMPS_H_
#define EK_COMPILER_PASSES_CLAMPS_H_

#include "edgekiln/v1/graph.pb.h"

// Fused activations.
namespace edgekiln::compiler {

// The fused activation of an op, null for ops that have none.
const v1::Clamp* ClampOf(const v1::OpAttributes& attributes);
v1::Clamp* MutableClamp(v1::OpAttributes& attributes);
bool HasBounds(const v1::Clamp& clamp);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_PASSES_CLAMPS_H_
