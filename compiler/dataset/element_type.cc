#include "compiler/dataset/element_type.h"

namespace edgekiln::compiler {

std::optional<NpyType> NpyTypeOf(v1::ElementType type) {
  switch (type) {
    case v1::FLOAT32:
      return NpyType::kFloat32;
    case v1::INT8:
      return NpyType::kInt8;
    case v1::UINT8:
      return NpyType::kUint8;
    case v1::INT16:
      return NpyType::kInt16;
    case v1::UINT16:
      return NpyType::kUint16;
    case v1::INT32:
      return NpyType::kInt32;
    case v1::INT64:
      return NpyType::kInt64;
    case v1::BOOL:
      return NpyType::kBool;
    case v1::FLOAT16:
      return NpyType::kFloat16;
    case v1::FLOAT64:
      return NpyType::kFloat64;
    default:
      return std::nullopt;
  }
}

}  // namespace edgekiln::compiler
