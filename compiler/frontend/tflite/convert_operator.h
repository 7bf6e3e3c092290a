#ifndef EK_COMPILER_FRONTEND_TFLITE_CONVERT_OPERATOR_H_
#define EK_COMPILER_FRONTEND_TFLITE_CONVERT_OPERATOR_H_

#include "absl/status/status.h"
#include "compiler/frontend/tflite/schema_generated.h"
#include "compiler/ir/graph.h"

namespace edgekiln::compiler {

// Whether ConvertOperator knows the operator at all.
bool IsConvertible(tflite::BuiltinOperator code);

// Fills in the attributes of `op` from a TensorFlow Lite operator. op.inputs
// and op.outputs hold all its tensors, read into `graph`; inputs that became
// attributes (paddings, axes, permutations, shapes) are taken off. The result
// still has to pass ops::CheckOp. Errors name neither operator nor index: the
// caller knows them.
absl::Status ConvertOperator(const tflite::Operator& from,
                             tflite::BuiltinOperator code, const Graph& graph,
                             Op& op);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_FRONTEND_TFLITE_CONVERT_OPERATOR_H_
