#ifndef EK_COMPILER_CODEGEN_C_FAST_DOT_H_
#define EK_COMPILER_CODEGEN_C_FAST_DOT_H_

#include "compiler/codegen/c/step_writer.h"
#include "edgekiln/v1/kernel_library.pb.h"

// Register-blocked int8 kernels: two pixels by four channels, weights
// interleaved by four, rows with padding in a ring of copies.
namespace edgekiln::compiler {

// An int8 convolution or fully connected layer that kernels.txtpb lets have it.
// False where the factors do not fit FastFinish; then nothing is written.
bool EmitFastDot(StepWriter& w, v1::CWeightOrder order);

// The same for depthwise convolutions of multiplier 1.
bool EmitFastDepthwise(StepWriter& w, v1::CWeightOrder order);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_CODEGEN_C_FAST_DOT_H_
