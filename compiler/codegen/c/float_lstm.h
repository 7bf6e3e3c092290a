#ifndef EK_COMPILER_CODEGEN_C_FLOAT_LSTM_H_
#define EK_COMPILER_CODEGEN_C_FLOAT_LSTM_H_

#include "compiler/codegen/c/step_writer.h"

namespace edgekiln::compiler {

// A float or double LSTM: ops/lstm.cc, operation by operation.
void EmitFloatLstm(StepWriter& w);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_CODEGEN_C_FLOAT_LSTM_H_
