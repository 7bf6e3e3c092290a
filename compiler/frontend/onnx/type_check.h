#ifndef EK_COMPILER_FRONTEND_ONNX_TYPE_CHECK_H_
#define EK_COMPILER_FRONTEND_ONNX_TYPE_CHECK_H_

#include "absl/status/status.h"
#include "compiler/frontend/onnx/builder.h"
#include "compiler/frontend/onnx/node.h"

namespace edgekiln::compiler::onnx_import {

// UNIMPLEMENTED if the node reads element types that its operator does not take
// by the standard; the error names them and what takes them. Says nothing about
// operators without a rule, nor about inputs that nothing makes.
absl::Status CheckTypes(const Node& node, const Builder& builder);

}  // namespace edgekiln::compiler::onnx_import

#endif  // EK_COMPILER_FRONTEND_ONNX_TYPE_CHECK_H_
