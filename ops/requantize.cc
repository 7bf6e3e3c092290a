#include "ops/requantize.h"

#include <bit>
#include <cmath>
#include <limits>

namespace edgekiln::ops {

FixedPointMultiplier QuantizeMultiplier(double factor, v1::Rounding rounding) {
  if (!(factor > 0) || std::isinf(factor)) return {0, 0, rounding};
  int exponent = 0;
  const double mantissa = std::frexp(factor, &exponent);  // In [0.5, 1).
  // Exact scaling, then half away from zero: both are exact operations.
  int64_t fixed =
      static_cast<int64_t>(std::round(mantissa * (int64_t{1} << 31)));
  if (fixed == int64_t{1} << 31) {
    fixed /= 2;
    ++exponent;
  }
  if (exponent < -31) return {0, 0, rounding};
  if (exponent > 30) {
    return {std::numeric_limits<int32_t>::max(), 30, rounding};
  }
  return {static_cast<int32_t>(fixed), exponent, rounding};
}

bool MayTie(FixedPointMultiplier factor, int64_t largest) {
  if (factor.multiplier == 0) return false;
  // A product ends in the bits 1 0 ... 0 where the value is an odd multiple of
  // 2^k.
  const int k = 30 - factor.shift -
                std::countr_zero(static_cast<uint32_t>(factor.multiplier));
  return k >= 0 && k < 63 && (int64_t{1} << k) <= largest;
}

}  // namespace edgekiln::ops
