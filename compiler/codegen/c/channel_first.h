#ifndef EK_COMPILER_CODEGEN_C_CHANNEL_FIRST_H_
#define EK_COMPILER_CODEGEN_C_CHANNEL_FIRST_H_

#include "compiler/codegen/c/kernels.h"
#include "compiler/codegen/c/step_writer.h"

// Recipe kUma: tensors [n, h, w, c] that lie in memory as [n, c, h, w]. The
// order of a tensor is that in which its layer writes it; layers that know only
// the order of the graph get copies (StepWriter).
namespace edgekiln::compiler {

// Tells `w` whether its code will ask for orders, and in which it gives output
// 0. `may_give`: nobody outside the layers reads it.
void PlanOrder(StepWriter& w, bool may_give);

// 8-bit convolutions with and without depth.
bool FitsChannelFirstDot(const StepWriter& w);
KernelChoice CostOfChannelFirstDot(const StepWriter& w);
bool EmitChannelFirstDot(StepWriter& w);

// A reshape of what lies channel-first.
bool FitsChannelFirstReshape(const StepWriter& w);
KernelChoice CostOfChannelFirstReshape(const StepWriter& w);
bool EmitChannelFirstReshape(StepWriter& w);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_CODEGEN_C_CHANNEL_FIRST_H_
