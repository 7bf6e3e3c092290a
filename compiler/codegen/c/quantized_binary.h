#ifndef EK_COMPILER_CODEGEN_C_QUANTIZED_BINARY_H_
#define EK_COMPILER_CODEGEN_C_QUANTIZED_BINARY_H_

#include "absl/status/status.h"
#include "compiler/codegen/c/step_writer.h"

namespace edgekiln::compiler {

// Add, Mul and Binary of quantized int8, uint8 and int16: the C of
// ops/binary_quantized.cc.
absl::Status EmitQuantizedBinary(StepWriter& w);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_CODEGEN_C_QUANTIZED_BINARY_H_
