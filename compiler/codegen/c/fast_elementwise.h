#ifndef EK_COMPILER_CODEGEN_C_FAST_ELEMENTWISE_H_
#define EK_COMPILER_CODEGEN_C_FAST_ELEMENTWISE_H_

#include "compiler/codegen/c/kernels.h"
#include "compiler/codegen/c/step_writer.h"

// Additions of int8 by upper halves of products.
namespace edgekiln::compiler {

bool FitsFastAdd(const StepWriter& w);
KernelChoice CostOfFastAdd(const StepWriter& w);
bool EmitFastAdd(StepWriter& w);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_CODEGEN_C_FAST_ELEMENTWISE_H_
