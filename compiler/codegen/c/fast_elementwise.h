#ifndef EK_COMPILER_CODEGEN_C_FAST_ELEMENTWISE_H_
#define EK_COMPILER_CODEGEN_C_FAST_ELEMENTWISE_H_

#include "compiler/codegen/c/step_writer.h"
#include "edgekiln/v1/kernel_library.pb.h"

// Additions of int8 by upper halves of products.
namespace edgekiln::compiler {

// False where the factors have no such form; then nothing is written.
bool EmitFastAdd(StepWriter& w, v1::CWeightOrder order);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_CODEGEN_C_FAST_ELEMENTWISE_H_
