#ifndef EK_OPS_REAL_ZERO_H_
#define EK_OPS_REAL_ZERO_H_

#include <cstdint>
#include <string>

#include "edgekiln/v1/data.pb.h"

namespace edgekiln::ops {

// `elements` elements of the real value 0, little-endian: the zero point of
// integers (0 if they are not quantized), 0 of floats, false.
std::string RealZero(v1::ElementType type, int64_t elements,
                     int32_t zero_point);

}  // namespace edgekiln::ops

#endif  // EK_OPS_REAL_ZERO_H_
