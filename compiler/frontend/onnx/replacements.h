#ifndef EK_COMPILER_FRONTEND_ONNX_REPLACEMENTS_H_
#define EK_COMPILER_FRONTEND_ONNX_REPLACEMENTS_H_

#include "absl/strings/string_view.h"

namespace edgekiln::compiler::onnx_import {

// What to use instead of an operator that has no converter; "" if there is
// nothing to say. `domain` is "" for the standard one.
absl::string_view FindReplacement(absl::string_view domain,
                                  absl::string_view op_type);

}  // namespace edgekiln::compiler::onnx_import

#endif  // EK_COMPILER_FRONTEND_ONNX_REPLACEMENTS_H_
