#ifndef EK_COMPILER_CODEGEN_C_SHARED_KERNELS_H_
#define EK_COMPILER_CODEGEN_C_SHARED_KERNELS_H_

#include "compiler/codegen/c/kernels.h"
#include "compiler/codegen/c/step_writer.h"

// Kernels that are one function for all layers of their kind and read shapes
// from a table at run time: least code, and what an interpreter's kernels cost.
namespace edgekiln::compiler {

// int8 convolutions, depthwise ones, fully connected layers.
bool FitsSharedConv(const StepWriter& w);
KernelChoice CostOfSharedConv(const StepWriter& w);
bool EmitSharedConv(StepWriter& w);

// int8 additions of equal shapes.
bool FitsSharedAdd(const StepWriter& w);
KernelChoice CostOfSharedAdd(const StepWriter& w);
bool EmitSharedAdd(StepWriter& w);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_CODEGEN_C_SHARED_KERNELS_H_
