#ifndef EK_COMPILER_CODEGEN_C_UNARY_EXPRESSION_H_
#define EK_COMPILER_CODEGEN_C_UNARY_EXPRESSION_H_

#include <string>

#include "compiler/codegen/c/step_writer.h"
#include "edgekiln/v1/graph.pb.h"

namespace edgekiln::compiler {

// The function of `op` in double, of the double variable `x`: the C of
// UnaryOf() in ops/unary_function.h.
std::string UnaryExpression(StepWriter& w, const v1::Unary& op,
                            const std::string& x);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_CODEGEN_C_UNARY_EXPRESSION_H_
