#ifndef EK_COMPILER_CODEGEN_C_FAST_DOT_H_
#define EK_COMPILER_CODEGEN_C_FAST_DOT_H_

#include "compiler/codegen/c/kernels.h"
#include "compiler/codegen/c/step_writer.h"

// Register-blocked int8 kernels: two pixels by four channels, weights
// interleaved by four, rows with padding in a ring of copies.
namespace edgekiln::compiler {

// Whether the step is an int8 convolution or fully connected layer with
// constant int8 weights that the kernel can do.
bool FitsFastDot(const StepWriter& w);

// Predicted cost on RV32IM.
KernelChoice CostOfFastDot(const StepWriter& w);

// False where the factors do not fit FastFinish; then nothing is written.
bool EmitFastDot(StepWriter& w);

// The same for depthwise convolutions of multiplier 1.
bool FitsFastDepthwise(const StepWriter& w);
KernelChoice CostOfFastDepthwise(const StepWriter& w);
bool EmitFastDepthwise(StepWriter& w);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_CODEGEN_C_FAST_DOT_H_
