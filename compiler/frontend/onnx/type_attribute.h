#ifndef EK_COMPILER_FRONTEND_ONNX_TYPE_ATTRIBUTE_H_
#define EK_COMPILER_FRONTEND_ONNX_TYPE_ATTRIBUTE_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "compiler/frontend/onnx/node.h"
#include "edgekiln/v1/data.pb.h"

namespace edgekiln::compiler::onnx_import {

// The element type that an integer attribute names, or that of `fallback` if it
// is absent. UNIMPLEMENTED for types that we do not have.
absl::StatusOr<v1::ElementType> TypeAttribute(const Node& node,
                                              absl::string_view attribute,
                                              int64_t fallback = 0);

}  // namespace edgekiln::compiler::onnx_import

#endif  // EK_COMPILER_FRONTEND_ONNX_TYPE_ATTRIBUTE_H_
