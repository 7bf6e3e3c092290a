#ifndef EK_COMPILER_CODEGEN_C_TABLE_KERNELS_H_
#define EK_COMPILER_CODEGEN_C_TABLE_KERNELS_H_

#include "compiler/codegen/c/kernels.h"
#include "compiler/codegen/c/step_writer.h"

// Recipe kTable: kernels that take tensors, shape and factors from an entry of
// a table, as those of an interpreter do (helpers_table.cc). A layer's function
// calls the kernel of its entry by a pointer.
namespace edgekiln::compiler {

// int8 and float32 convolutions, depthwise ones, fully connected layers.
bool FitsTableDot(const StepWriter& w);
KernelChoice CostOfTableDot(const StepWriter& w);
bool EmitTableDot(StepWriter& w);

// int8 and float32 additions of equal shapes.
bool FitsTableAdd(const StepWriter& w);
KernelChoice CostOfTableAdd(const StepWriter& w);
bool EmitTableAdd(StepWriter& w);

// int8 averages and maxima of windows.
bool FitsTablePool(const StepWriter& w);
KernelChoice CostOfTablePool(const StepWriter& w);
bool EmitTablePool(StepWriter& w);

// int8 softmax.
bool FitsTableSoftmax(const StepWriter& w);
KernelChoice CostOfTableSoftmax(const StepWriter& w);
bool EmitTableSoftmax(StepWriter& w);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_CODEGEN_C_TABLE_KERNELS_H_
