#ifndef EK_COMPILER_FRONTEND_ONNX_OPERATOR_CHECK_H_
#define EK_COMPILER_FRONTEND_ONNX_OPERATOR_CHECK_H_

#include "absl/status/status.h"
#include "onnx/onnx_pb.h"

namespace edgekiln::compiler::onnx_import {

// Bodies of If, Loop and Scan count only where they run, which converting finds
// out.
enum class Bodies { kSkip, kInclude };

// UNIMPLEMENTED if nodes that the outputs need, also inside functions that they
// call, have operators without a converter: of another domain, unknown, or of
// an op set in which the name meant something else. The error names all of them
// and what to use instead.
absl::Status CheckOperators(const onnx::ModelProto& model, int opset,
                            Bodies bodies);

}  // namespace edgekiln::compiler::onnx_import

#endif  // EK_COMPILER_FRONTEND_ONNX_OPERATOR_CHECK_H_
