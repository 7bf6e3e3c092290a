#ifndef EK_OPS_ELEMENT_TYPES_H_
#define EK_OPS_ELEMENT_TYPES_H_

#include <cstdint>

#include "absl/status/status.h"
#include "edgekiln/v1/data.pb.h"

// From element types to C++ types.
namespace edgekiln::ops {

// Calls fn(T()) with the type of the tensor's values: float, double or a fixed
// width integer; bool is uint8_t. FLOAT16 has none (float16.h): UNIMPLEMENTED.
template <typename Fn>
absl::Status WithElementType(v1::ElementType type, const Fn& fn) {
  switch (type) {
    case v1::FLOAT32:
      return fn(float());
    case v1::FLOAT64:
      return fn(double());
    case v1::INT8:
      return fn(int8_t());
    case v1::UINT8:
    case v1::BOOL:
      return fn(uint8_t());
    case v1::INT16:
      return fn(int16_t());
    case v1::UINT16:
      return fn(uint16_t());
    case v1::INT32:
      return fn(int32_t());
    case v1::UINT32:
      return fn(uint32_t());
    case v1::INT64:
      return fn(int64_t());
    case v1::UINT64:
      return fn(uint64_t());
    default:
      return absl::UnimplementedError("no arithmetic on this element type");
  }
}

// The types of quantized activations: INT8, UINT8, INT16.
template <typename Fn>
absl::Status WithQuantizedType(v1::ElementType type, const Fn& fn) {
  switch (type) {
    case v1::INT8:
      return fn(int8_t());
    case v1::UINT8:
      return fn(uint8_t());
    case v1::INT16:
      return fn(int16_t());
    default:
      return absl::UnimplementedError("no quantized kernel for this type");
  }
}

// An unsigned integer of the size of the elements, for ops that move them.
template <typename Fn>
void WithElementSize(int64_t bytes, const Fn& fn) {
  switch (bytes) {
    case 1:
      return fn(uint8_t());
    case 2:
      return fn(uint16_t());
    case 4:
      return fn(uint32_t());
    default:
      return fn(uint64_t());
  }
}

}  // namespace edgekiln::ops

#endif  // EK_OPS_ELEMENT_TYPES_H_
