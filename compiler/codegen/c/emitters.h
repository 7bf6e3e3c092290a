#ifndef EK_COMPILER_CODEGEN_C_EMITTERS_H_
#define EK_COMPILER_CODEGEN_C_EMITTERS_H_

#include "absl/status/status.h"
#include "compiler/codegen/c/step_writer.h"

// One function per family of ops, each in emit_<family>.cc: the C of a step by
// plain loops, bit for bit what ops/ computes. The step has passed CheckOp() or
// is one of several that stand for such an op (steps.h); its outputs are not
// all empty. UNIMPLEMENTED for what has no C.
namespace edgekiln::compiler {

absl::Status EmitDot(StepWriter& w);
absl::Status EmitPooling(StepWriter& w);
absl::Status EmitRequantize(StepWriter& w);
absl::Status EmitQuantize(StepWriter& w);
absl::Status EmitDequantize(StepWriter& w);
absl::Status EmitCast(StepWriter& w);
absl::Status EmitUnary(StepWriter& w);
absl::Status EmitClip(StepWriter& w);
absl::Status EmitBinary(StepWriter& w);  // Add and Mul, too.
absl::Status EmitSelect(StepWriter& w);
absl::Status EmitMovement(StepWriter& w);
absl::Status EmitIndexed(StepWriter& w);  // Gathers, too.
absl::Status EmitReduction(StepWriter& w);
absl::Status EmitOrder(StepWriter& w);  // ArgReduce, TopK, CumSum.
absl::Status EmitNormalization(StepWriter& w);
absl::Status EmitSoftmax(StepWriter& w);  // LogSoftmax, too.
absl::Status EmitResize(StepWriter& w);
absl::Status EmitGridSample(StepWriter& w);
absl::Status EmitRecurrent(StepWriter& w);
absl::Status EmitIntegerLstm(StepWriter& w);

// The one that the op belongs to.
absl::Status EmitStep(StepWriter& w);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_CODEGEN_C_EMITTERS_H_
