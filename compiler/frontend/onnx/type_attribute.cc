#include "compiler/frontend/onnx/type_attribute.h"

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/frontend/onnx/tensor_data.h"

namespace edgekiln::compiler::onnx_import {

absl::StatusOr<v1::ElementType> TypeAttribute(const Node& node,
                                              absl::string_view attribute,
                                              int64_t fallback) {
  EK_ASSIGN_OR_RETURN(const int64_t to, node.Int(attribute, fallback));
  const v1::ElementType type = to >= 0 && to < 64
                                   ? ElementTypeOf(static_cast<int32_t>(to))
                                   : v1::ELEMENT_TYPE_UNSPECIFIED;
  if (type != v1::ELEMENT_TYPE_UNSPECIFIED) return type;
  return node.Unsupported(
      absl::StrCat(attribute, " ", OnnxTypeName(static_cast<int32_t>(to))),
      "float16, float32, float64, integers of 8 to 64 bits, bool",
      "export with one of these types");
}

}  // namespace edgekiln::compiler::onnx_import
