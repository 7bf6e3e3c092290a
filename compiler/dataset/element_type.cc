#include "compiler/dataset/element_type.h"

#include <limits>

namespace edgekiln::compiler {
namespace {

constexpr int64_t kExact = int64_t{1} << 53;  // Whole numbers of a double.

template <typename T>
IntegerRange RangeOf() {
  return {std::numeric_limits<T>::min(), std::numeric_limits<T>::max()};
}

}  // namespace

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
    case v1::UINT32:
      return NpyType::kUint32;
    case v1::UINT64:
      return NpyType::kUint64;
    default:
      return std::nullopt;
  }
}

IntegerRange IntegerRangeOf(NpyType type) {
  switch (type) {
    case NpyType::kBool:
      return {0, 1};
    case NpyType::kInt8:
      return RangeOf<int8_t>();
    case NpyType::kUint8:
      return RangeOf<uint8_t>();
    case NpyType::kInt16:
      return RangeOf<int16_t>();
    case NpyType::kUint16:
      return RangeOf<uint16_t>();
    case NpyType::kInt32:
      return RangeOf<int32_t>();
    case NpyType::kUint32:
      return RangeOf<uint32_t>();
    case NpyType::kInt64:
      return {-kExact, kExact};
    case NpyType::kUint64:
      return {0, kExact};
    default:
      return {};
  }
}

}  // namespace edgekiln::compiler
