#ifndef EK_COMPILER_EXPORT_TESTING_ONNX_CHECKER_H_
#define EK_COMPILER_EXPORT_TESTING_ONNX_CHECKER_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace edgekiln::compiler {

// What the ONNX project's own checker says of a model: its structure, the
// attributes and number of operands of each node, their element types and
// shapes, and that these are inferred as the model's outputs state them.
absl::Status CheckedByOnnx(absl::string_view model);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_EXPORT_TESTING_ONNX_CHECKER_H_
