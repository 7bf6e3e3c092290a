#ifndef EK_OPS_DOT_OUTPUT_H_
#define EK_OPS_DOT_OUTPUT_H_

#include <algorithm>
#include <cstdint>
#include <limits>

#include "edgekiln/v1/graph.pb.h"
#include "ops/quantized_parameters.h"
#include "ops/requantize.h"

// What follows every sum of products: bias, rescaling, clamp.
namespace edgekiln::ops {

// Bounds of a clamp as floats; infinite where absent.
struct FloatRange {
  float min = -std::numeric_limits<float>::infinity();
  float max = std::numeric_limits<float>::infinity();

  // NaN passes.
  float Apply(float value) const {
    value = value < min ? min : value;
    return value > max ? max : value;
  }
};

inline FloatRange FloatRangeOf(const v1::Clamp& clamp) {
  FloatRange range;
  if (clamp.has_min()) range.min = clamp.min();
  if (clamp.has_max()) range.max = clamp.max();
  return range;
}

// Rescaled value plus zero point within `range`; no overflow in between.
inline int32_t Finish(int32_t value, FixedPointMultiplier multiplier,
                      int32_t zero_point, QuantizedRange range) {
  const int64_t moved = int64_t{Rescale(value, multiplier)} + zero_point;
  return static_cast<int32_t>(std::clamp<int64_t>(moved, range.min, range.max));
}

}  // namespace edgekiln::ops

#endif  // EK_OPS_DOT_OUTPUT_H_
