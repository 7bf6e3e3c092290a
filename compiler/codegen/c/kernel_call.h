#ifndef EK_COMPILER_CODEGEN_C_KERNEL_CALL_H_
#define EK_COMPILER_CODEGEN_C_KERNEL_CALL_H_

#include "compiler/codegen/c/kernel_library.h"
#include "compiler/codegen/c/step_writer.h"

namespace edgekiln::compiler {

// Writes the call of a kernel that fits the step. INVALID_ARGUMENT where an
// argument has no value for it.
absl::Status EmitCall(StepWriter& w, const KernelLibrary& library,
                      const v1::CKernel& kernel, KernelFacts& facts);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_CODEGEN_C_KERNEL_CALL_H_
