#ifndef EK_COMPILER_CODEGEN_C_CHANNEL_FIRST_H_
#define EK_COMPILER_CODEGEN_C_CHANNEL_FIRST_H_

#include "compiler/codegen/c/step_writer.h"
#include "edgekiln/v1/kernel_library.pb.h"

// Recipe kUma: tensors [n, h, w, c] that lie in memory as [n, c, h, w]. The
// order of a tensor is that in which its layer writes it; layers that know only
// the order of the graph get copies (StepWriter).
namespace edgekiln::compiler {

// Tells `w` whether its code will ask for orders, and in which it gives output
// 0. `knows_orders`: a kernel of the recipe fits. `may_give`: nobody outside
// the layers reads the output.
void PlanOrder(StepWriter& w, bool knows_orders, bool may_give);

// 8-bit convolutions with and without depth.
bool EmitChannelFirstDot(StepWriter& w, v1::CWeightOrder order);

// A reshape of what lies channel-first.
bool EmitChannelFirstReshape(StepWriter& w, v1::CWeightOrder order);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_CODEGEN_C_CHANNEL_FIRST_H_
