#include "ops/requantize.h"

#include <cmath>
#include <limits>

namespace edgekiln::ops {

FixedPointMultiplier QuantizeMultiplier(double factor) {
  if (!(factor > 0) || std::isinf(factor)) return {};
  int exponent = 0;
  const double mantissa = std::frexp(factor, &exponent);  // In [0.5, 1).
  // Exact scaling, then half away from zero: both are exact operations.
  int64_t fixed =
      static_cast<int64_t>(std::round(mantissa * (int64_t{1} << 31)));
  if (fixed == int64_t{1} << 31) {
    fixed /= 2;
    ++exponent;
  }
  if (exponent < -31) return {};
  if (exponent > 30) return {std::numeric_limits<int32_t>::max(), 30};
  return {static_cast<int32_t>(fixed), exponent};
}

}  // namespace edgekiln::ops
