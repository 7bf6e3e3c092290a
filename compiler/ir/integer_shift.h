#ifndef EK_COMPILER_IR_INTEGER_SHIFT_H_
#define EK_COMPILER_IR_INTEGER_SHIFT_H_

#include <cstdint>

#include "edgekiln/v1/data.pb.h"

// uint8 and int8, and uint16 and int16, hold the same real values when both the
// integers and the zero point are shifted by half of the range.
namespace edgekiln::compiler {

// What is added on the way from the other type of the same width to `type`; 0
// if there is no other.
inline int32_t ShiftTo(v1::ElementType type) {
  switch (type) {
    case v1::INT8:
      return -128;
    case v1::UINT8:
      return 128;
    case v1::INT16:
      return -32768;
    case v1::UINT16:
      return 32768;
    default:
      return 0;
  }
}

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_IR_INTEGER_SHIFT_H_
